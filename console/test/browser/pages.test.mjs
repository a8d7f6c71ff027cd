/** Every page with data, in both themes and two sizes: no errors, no violations, nothing foreign. */

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Server, checkAccessibility, openBrowser, openPage, pages, seed, settle } from './support.mjs'

let server, browser, all
before(async () => {
  server = await Server.start()
  browser = await openBrowser()
  const ids = await seed(server)
  const { items } = await server.get('/schedules')
  all = pages(ids, items.find((it) => it.definition === 'nightly_batch').id)
})
after(async () => {
  await browser?.close()
  await server?.stop()
})

const VIEWS = [
  { theme: 'light', width: 1440, height: 900 },
  { theme: 'dark', width: 1440, height: 900 },
  { theme: 'light', width: 390, height: 844 },
]

describe('pages', () => {
  for (const view of VIEWS) {
    test(`are complete and accessible, ${view.theme} at ${view.width}`, async () => {
      const page = await openPage(browser, server, view)
      const faults = []
      for (const [name, path] of Object.entries(all)) {
        await page.goto(path)
        await settle(page)
        await checkAccessibility(page, name).catch((error) => faults.push(error.message))
        assert.equal(await page.locator('[role=alert]').count(), 0, `${name} shows an error`)
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
        assert.ok(wide <= 0, `${name} is ${wide} px too wide at ${view.width}`)
        page.check()
      }
      assert.deepEqual(faults, [])
      await page.context().close()
    })
  }

  test('without data teach what to do', async () => {
    const empty = await Server.start({ command: 'serve', args: ['--db', 'memory'] })
    try {
      const page = await openPage(browser, empty)
      for (const path of ['/', '/instances', '/tasks', '/tasks?tab=steps', '/tasks?tab=workers', '/timers', '/schedules', '/forecast', '/definitions', '/incidents']) {
        await page.goto(path)
        await settle(page)
        assert.ok((await page.locator('.empty').count()) > 0, path)
        await checkAccessibility(page, `${path} without data`)
      }
      await page.goto('/instances')
      await page.getByRole('button', { name: 'Copy' }).click()
      page.check()
      await page.context().close()
    } finally {
      await empty.stop()
    }
  })

  test('say what does not exist', async () => {
    const page = await openPage(browser, server)
    page.expected.add(400)
    await page.goto('/instances/in_00000000000000000000000000')
    await page.getByText('unknown_instance').first().waitFor()
    await page.getByRole('link', { name: 'What this means' }).first().waitFor()
    await page.goto('/instances?status=nonsense')
    await page.getByRole('alert').getByText('invalid_query').waitFor()
    page.check()
    await page.context().close()
  })
})

describe('the page', () => {
  test('is small, and its files are kept for ever', async () => {
    const page = await openPage(browser, server)
    const sizes = new Map()
    page.on('response', (response) => {
      const { pathname } = new URL(response.url())
      if (!pathname.startsWith('/api/')) sizes.set(pathname, response)
    })
    await page.goto('/')
    await settle(page)
    let total = 0
    for (const [path, response] of sizes) {
      const headers = await response.allHeaders()
      total += Number(headers['content-length'])
      assert.equal(headers['x-content-type-options'], 'nosniff', path)
      if (path === '/') continue
      assert.equal(headers['content-encoding'], 'gzip', path)
      assert.match(headers['cache-control'], /immutable/, path)
    }
    assert.ok(sizes.size >= 3 && total > 10_000, 'the page has files')
    assert.ok(total <= 400_000, `the first load is ${total} bytes`)
    page.check()
    await page.context().close()
  })

  test('has a strict policy, a tag, and answers only to browsers at other paths', async () => {
    const first = await fetch(`${server.url}/`)
    const policy = first.headers.get('content-security-policy')
    assert.doesNotMatch(policy, /unsafe|\*|https?:|data:/)
    assert.match(policy, /default-src 'none'/)
    const tag = first.headers.get('etag')
    const again = await fetch(`${server.url}/`, { headers: { 'If-None-Match': tag } })
    assert.equal(again.status, 304)
    const status = async (path, headers) => (await fetch(server.url + path, { headers })).status
    assert.equal(await status('/instances', { Accept: 'text/html' }), 200)
    assert.equal(await status('/instances', { Accept: 'application/json' }), 404)
    assert.equal(await status('/api/v1/nothing', { Accept: 'text/html' }), 404)
    assert.equal(await status('/assets/none.js', { Accept: 'text/html' }), 404)
  })

  test('keeps numbers as they were written', async () => {
    const page = await openPage(browser, server)
    const response = await fetch(`${server.url}/api/v1/instances`, {
      method: 'POST', headers: { 'Content-Type': 'application/json' },
      body: '{"definition":"reminder","input":{"invoice":"1.10","exact":1.10,"large":123456789012345678901234567890}}',
    })
    const { id } = await response.json()
    await page.goto(`/instances/${id}`)
    await page.getByRole('region', { name: 'Input' }).getByText('123456789012345678901234567890').waitFor()
    await page.getByRole('region', { name: 'Input' }).getByText('1.10', { exact: true }).waitFor()
    page.check()
    await page.context().close()
  })
})
