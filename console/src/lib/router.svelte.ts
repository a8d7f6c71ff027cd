/** The address is the state: pages read their path and query from here, and write it back. */

class Route {
  path = $state(location.pathname)
  query = $state.raw(new URLSearchParams(location.search))

  read(): void {
    this.path = location.pathname
    this.query = new URLSearchParams(location.search)
  }

  get(name: string): string | undefined {
    return this.query.get(name) ?? undefined
  }
}

export const route = new Route()

addEventListener('popstate', () => route.read())

export function go(href: string, options: { replace?: boolean } = {}): void {
  if (options.replace) history.replaceState(null, '', href)
  else history.pushState(null, '', href)
  const before = route.path
  route.read()
  if (before !== route.path) scrollTo(0, 0)
}

/** Changes parameters of the query; `undefined` removes one. */
export function setQuery(
  changes: Record<string, string | undefined>,
  options: { replace?: boolean } = { replace: true },
): void {
  const query = new URLSearchParams(location.search)
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') query.delete(name)
    else query.set(name, value)
  }
  const text = query.toString()
  const href = location.pathname + (text ? `?${text}` : '')
  if (href !== location.pathname + location.search) go(href, options)
}

/** Paths that the server answers itself. */
const OUTSIDE = ['/api/', '/docs', '/openapi.json', '/metrics']

/** Follows links within the console without loading the page again. */
export function followLinks(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0) return
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
  const link = (event.target as Element | null)?.closest('a')
  const href = link?.getAttribute('href')
  if (!link || !href?.startsWith('/') || link.target) return
  if (OUTSIDE.some((path) => href.startsWith(path))) return
  event.preventDefault()
  go(href)
}

/** The id of a path such as `/instances/in_1`. */
export function match(pattern: string, path: string): Record<string, string> | undefined {
  const wanted = pattern.split('/')
  const given = path.split('/')
  if (wanted.length !== given.length) return undefined
  const found: Record<string, string> = {}
  for (const [index, part] of wanted.entries()) {
    const value = given[index] ?? ''
    if (part.startsWith(':')) found[part.slice(1)] = decodeURIComponent(value)
    else if (part !== value) return undefined
  }
  return found
}
