/** The pages, with their places in the navigation. */

import type { IconName } from '../ui/Icon.svelte'
import { t } from './text'

export type NavItem = { href: string; label: string; icon: IconName; key: string }

export const NAVIGATION: NavItem[] = [
  { href: '/', label: t.nav.home, icon: 'home', key: 'h' },
  { href: '/instances', label: t.nav.instances, icon: 'instances', key: 'i' },
  { href: '/tasks', label: t.nav.tasks, icon: 'tasks', key: 't' },
  { href: '/timers', label: t.nav.timers, icon: 'timers', key: 'm' },
  { href: '/schedules', label: t.nav.schedules, icon: 'schedules', key: 's' },
  { href: '/forecast', label: t.nav.forecast, icon: 'forecast', key: 'f' },
  { href: '/definitions', label: t.nav.definitions, icon: 'definitions', key: 'd' },
  { href: '/incidents', label: t.nav.incidents, icon: 'incidents', key: 'n' },
]
