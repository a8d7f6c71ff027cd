/** Pictures of every page in both themes, wide and narrow. */

import { join } from 'node:path'
import { Server, artefacts, openBrowser, openPage, pages, seed, settle } from './browser/support.mjs'

const SIZES = { wide: { width: 1440, height: 900 }, narrow: { width: 390, height: 844 } }
const only = process.argv.slice(2)
const server = await Server.start()
const browser = await openBrowser()
try {
  const ids = await seed(server)
  const schedules = await server.get('/schedules')
  const nightly = schedules.items.find((it) => it.definition === 'nightly_batch')
  for (const [size, viewport] of Object.entries(SIZES)) {
    for (const theme of ['light', 'dark']) {
      const page = await openPage(browser, server, { theme, ...viewport })
      for (const [name, path] of Object.entries(pages(ids, nightly.id))) {
        if (only.length && !only.some((it) => `${name}-${theme}-${size}`.includes(it))) continue
        await page.goto(path).catch((error) => { throw new Error(name, { cause: error }) })
        await settle(page)
        await page.screenshot({ path: join(artefacts(), `${name}-${theme}-${size}.png`) })
      }
      await page.context().close()
    }
  }
  console.log(artefacts())
} finally {
  await browser.close()
  await server.stop()
}
