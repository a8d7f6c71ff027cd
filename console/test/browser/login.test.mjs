/** A server with keys: nothing is shown without one, and roles decide what may be done. */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { after, before, test } from 'node:test'
import { Server, checkAccessibility, openBrowser, openPage, settle } from './support.mjs'

let server, browser, keys
before(async () => {
  browser = await openBrowser()
  const binary = process.env.MEANTIME_TEST_BINARY ?? new URL('../../../target/debug/meantime', import.meta.url).pathname
  const make = (role) => JSON.parse(execFileSync(binary, ['key', '--role', role, '--format', 'json'], { encoding: 'utf8' }))
  keys = { admin: make('admin'), viewer: make('viewer') }
  const config = Object.entries(keys)
    .map(([role, key]) => `[[auth.keys]]\nid = "${key.id}"\nsha256 = "${key.sha256}"\nrole = "${role}"\n`)
    .join('')
  server = await Server.start({ command: 'serve', args: ['--db', 'memory', '--virtual-clock', '2026-03-02T08:00:00Z'], config })
})
after(async () => {
  await browser?.close()
  await server?.stop()
})

test('a key is asked for, checked, kept for the tab and forgotten', async () => {
  const page = await openPage(browser, server)
  page.expected.add(401)
  await page.goto('/instances')
  await page.getByLabel('Key', { exact: true }).waitFor()
  await checkAccessibility(page, 'login')
  await page.getByLabel('Key', { exact: true }).fill('mt_00000000_nonsense')
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('alert').getByText('does not accept').waitFor()
  await page.getByLabel('Key', { exact: true }).fill(keys.admin.key)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('heading', { name: 'Instances' }).waitFor()
  await page.getByText('Live').waitFor()
  await page.reload()
  await settle(page)
  assert.equal(await page.getByLabel('Key', { exact: true }).count(), 0)
  await page.getByRole('button', { name: 'Log out' }).click()
  await page.getByLabel('Key', { exact: true }).waitFor()
  assert.equal(await page.evaluate(() => sessionStorage.length), 0)
  page.check()
  await page.context().close()
})

test('what a role may not do is refused with its code', async () => {
  const page = await openPage(browser, server)
  page.expected.add(401)
  page.expected.add(403)
  await page.goto('/')
  await page.getByLabel('Key', { exact: true }).fill(keys.viewer.key)
  await page.getByRole('button', { name: 'Log in' }).click()
  await settle(page)
  await page.getByRole('button', { name: '+1 d' }).click()
  await page.getByRole('alert').getByText('forbidden').waitFor()
  page.check()
  await page.context().close()
})
