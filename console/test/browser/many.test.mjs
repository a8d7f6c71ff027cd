/** A hundred thousand instances: only the rows in view exist, pages are loaded while one scrolls. */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Server, openBrowser, openPage, settle } from './support.mjs'

const PARENTS = 100
const CHILDREN = 1000

let server, browser
before(async () => {
  server = await Server.start({ command: 'serve', args: ['--db', 'memory', '--virtual-clock', '2026-03-02T08:00:00Z'] })
  browser = await openBrowser()
  await server.deploy('one', 'return await Signal.next("go")')
  await server.deploy('crowd', 'const all = []\nfor (let n = 0; n < Inputs.count; n++) { all.push(Workflow.run("one", { n })) }\nreturn await Task.all(all)')
  // Children are started by the engine in large commits.
  for (let parent = 0; parent < PARENTS; parent++) await server.start('crowd', { count: CHILDREN })
  await server.start('one', { n: -1 }, { key: 'needle' })
})
after(async () => {
  await browser?.close()
  await server?.stop()
})

test('are scrolled and filtered', async () => {
  const page = await openPage(browser, server)
  await page.goto('/instances?definition=one')
  await settle(page)
  await page.getByText(/At least [\d,]+ instances/).waitFor()
  const rows = () => page.locator('tbody tr:not(.gap)').count()
  const region = page.getByRole('region', { name: 'Instances; arrows choose a row' })
  const loaded = async () => Number((await page.locator('footer').textContent()).replace(/\D/g, ''))
  const last = async () => page.locator('tbody tr:not(.gap)').last().textContent()
  let before = await loaded()
  for (let round = 0; round < 8; round++) {
    const seen = await last()
    await region.evaluate((box) => (box.scrollTop = box.scrollHeight))
    await page.waitForFunction((count) => Number(document.querySelector('footer').textContent.replace(/\D/g, '')) > count, before)
    await page.waitForFunction((text) => [...document.querySelectorAll('tbody tr:not(.gap)')].at(-1).textContent !== text, seen)
    before = await loaded()
    assert.ok((await rows()) <= 120, `${await rows()} rows exist`)
  }
  assert.ok(before >= 800, `${before} are loaded`)
  await page.goto('/instances?definition=one&key=needle')
  await page.getByRole('cell', { name: 'needle' }).waitFor()
  await page.getByText('1 instance', { exact: true }).waitFor()
  await page.goto('/instances?definition=one&status=completed')
  await page.getByText('No instance matches these filters').waitFor()
  page.check()
  await page.context().close()
})
