/** Names of elements for people: an element of a flow is a place in its source, `14:69`. */

import { t } from './text'

export function elementName(element: string): string {
  const place = /^(\d+):\d+$/.exec(element)
  return place ? t.line(place[1] ?? '') : element
}
