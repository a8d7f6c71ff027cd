/**
 * A real server, a real browser, and pages that fail their test for what nobody may overlook: an
 * error on the console, a request to another origin, and anything that the policy of the page refuses.
 */

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'

const here = dirname(fileURLToPath(import.meta.url))
const root = resolve(here, '../../..')
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** The instant at which virtual clocks of the tests begin: a Monday morning. */
export const BEGIN = '2026-03-02T08:00:00Z'

const BROWSERS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

function binary() {
  const found = process.env.MEANTIME_TEST_BINARY ?? join(root, 'target/debug/meantime')
  assert.ok(existsSync(found), `there is no ${found}: run \`cargo xtask console\``)
  return found
}

/** A server on a free port of loopback with a store and a directory of its own. */
export class Server {
  static async start({ command = 'dev', args = [], config } = {}) {
    const server = new Server()
    server.directory = mkdtempSync(join(tmpdir(), 'meantime-console-'))
    const all = [command]
    if (command === 'dev') all.push(join(root, 'examples'), '--virtual-clock', BEGIN)
    all.push('--listen', '127.0.0.1:0', ...args)
    if (config) {
      writeFileSync(join(server.directory, 'meantime.toml'), config)
      all.push('--config', 'meantime.toml')
    }
    server.process = spawn(binary(), all, {
      cwd: server.directory,
      env: { ...process.env, MEANTIME_LOG__FORMAT: 'json', MEANTIME_LOG__LEVEL: 'info' },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const lines = createInterface({ input: server.process.stderr })
    const log = []
    server.url = await new Promise((found, failed) => {
      lines.on('line', (line) => {
        log.push(line)
        const address = /"address":"([^"]+)"/.exec(line)?.[1]
        if (address) found(`http://${address}`)
      })
      server.process.on('exit', () => failed(new Error(`the server ended:\n${log.join('\n')}`)))
    })
    if (command === 'dev') await server.until(() => server.get('/definitions?limit=1000').then((it) => it.items.length >= 28))
    return server
  }

  async get(path) {
    return this.call('GET', path)
  }

  async post(path, body) {
    return this.call('POST', path, body)
  }

  async call(method, path, body) {
    const response = await fetch(`${this.url}/api/v1${path}`, {
      method, headers: { 'Content-Type': 'application/json' }, ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const answer = await response.json()
    assert.ok(response.ok, `${method} ${path}: ${JSON.stringify(answer)}`)
    return answer
  }

  /** Waits for a condition of the API. */
  async until(holds) {
    for (let round = 0; round < 900; round++) {
      if (await holds()) return
      await new Promise((done) => setTimeout(done, 50))
    }
    assert.fail('the condition never held')
  }

  /** Deploys a flow. */
  async deploy(name, text) {
    const headers = { 'Content-Type': 'text/javascript' }
    const response = await fetch(`${this.url}/api/v1/definitions?name=${name}`, { method: 'POST', headers, body: text })
    assert.ok(response.ok, await response.text())
  }

  async start(definition, input, more = {}) {
    return (await this.post('/instances', { definition, input, ...more })).id
  }

  /** Claims one task of a type and reports it. */
  async work(type, report) {
    const { tasks } = await this.post('/tasks/claim', { worker: 'w1', types: [type], max: 1 })
    assert.equal(tasks.length, 1, `no task ${type}`)
    const [{ id, leaseToken }] = tasks
    const failed = report.error !== undefined
    await this.post(`/tasks/${id}/${failed ? 'fail' : 'complete'}`, { leaseToken, ...report })
  }

  async stop() {
    this.process.removeAllListeners('exit')
    if (this.process.exitCode === null) {
      this.process.kill()
      await once(this.process, 'exit')
    }
    rmSync(this.directory, { recursive: true, force: true })
  }
}

/** Instances of all three notations in every state, an incident, tasks for people and a past. */
export async function seed(server) {
  const ids = {}
  ids.order = await server.start('order', { item: 7 }, { key: 'order-1007' })
  await server.work('reserve-goods', { error: { code: 'NO_STOCK', message: 'the shelf is empty' }, retryable: false })
  ids.picked = await server.start('order', { item: 8 }, { key: 'order-1008', tags: ['express'] })
  await server.work('reserve-goods', { output: { shelf: 'A8' } })
  ids.reminder = await server.start('reminder', { invoice: 'R-17', customer: 'Ann' }, { key: 'R-17' })
  await server.post('/clock/advance', { by: 'P3D' })
  await server.start('reminder', { invoice: 'R-18', customer: 'Bob' }, { key: 'R-18' })
  ids.trip = await server.start('trip', { traveller: 'ada', flight: 'LH1', hotel: 'H1', car: 'C1' }, { key: 'trip-ada' })
  await server.work('book-flight', { output: { booking: 'f-1' } })
  await server.work('book-hotel', { output: { booking: 'h-1' } })
  await server.work('book-car', { error: { code: 'SOLD_OUT', message: 'no car left' }, retryable: false })
  await server.work('cancel-hotel', {})
  await server.work('cancel-flight', {})
  await server.post('/clock/advance', { by: 'P5D' })
  await server.work('send-friendly-reminder', {})
  ids.approvals = await server.start('approvals', { approvers: ['ada', 'bob'] }, { key: 'budget-2026' })
  ids.escalation = await server.start('approval-escalation', { request: 'house', amount: 9000, requester: 'ann' })
  await server.start('approval-escalation', { request: 'chairs', amount: 50, requester: 'ann' })
  ids.complaint = await server.start('complaint', { complaintId: 'c-1' }, { key: 'c-1' })
  const gone = await server.start('payment_deadline', { orderId: 'o-9' }, { key: 'o-9' })
  await server.post(`/instances/${gone}/cancel`, { reason: 'ordered twice' })
  for (let number = 0; number < 12; number++) {
    await server.start('reminder', { invoice: `R-${20 + number}`, customer: 'Cyd' }, { key: `R-${20 + number}` })
    if (number % 3 === 0) await server.post('/clock/advance', { by: 'PT2H' })
  }
  return ids
}

export async function openBrowser() {
  const executablePath = process.env.MEANTIME_TEST_BROWSER ?? BROWSERS.find((it) => existsSync(it))
  assert.ok(executablePath, 'there is no Chromium: run `cargo xtask console`')
  return chromium.launch({
    executablePath,
    args: [
      '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
      '--disable-background-networking', '--disable-component-update', '--disable-sync',
    ],
  })
}

/** A page that collects what went wrong; `check` fails for it. */
export async function openPage(browser, server, { theme = 'light', width = 1440, height = 900 } = {}) {
  const context = await browser.newContext({
    baseURL: server.url, viewport: { width, height }, colorScheme: theme,
    timezoneId: 'Europe/Berlin', locale: 'en-GB', permissions: ['clipboard-write'],
  })
  const page = await context.newPage()
  // Generous, for machines that are busy with something else.
  page.setDefaultTimeout(45_000)
  const wrong = []
  page.expected = new Set()
  page.on('pageerror', (error) => wrong.push(`error: ${error.message}`))
  page.on('console', (message) => {
    if (message.type() !== 'error' && message.type() !== 'warning') return
    // A refusal of the API is no fault of the page if the test asked for it.
    const status = /status of (\d+)/.exec(message.text())?.[1]
    if (status && page.expected.has(Number(status))) return
    wrong.push(`console: ${message.text()} ${message.location().url}`)
  })
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url())
    if (origin !== server.url && protocol !== 'data:') wrong.push(`request to ${request.url()}`)
  })
  await page.addInitScript(() => {
    addEventListener('securitypolicyviolation', (event) => {
      console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`)
    })
  })
  // The real clock of engines without a virtual one: the answer is no error.
  page.expected.add(404)
  page.check = () => assert.deepEqual(wrong, [])
  return page
}

/** Waits until nothing loads any more. */
export async function settle(page) {
  await page.locator('h1').first().waitFor()
  await page.waitForFunction(() => document.querySelectorAll('.skeleton').length === 0)
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))))
}

/** The rules of accessibility, without exceptions. */
export async function checkAccessibility(page, what) {
  // Evaluated by the tool of the test, which the policy of the page does not concern.
  const { violations } = await page.evaluate(`(() => { ${axe}; return axe.run(document, { resultTypes: ['violations'] }) })()`)
  const found = violations.map((it) => `${it.id}: ${it.help}\n    ${it.nodes.map((node) => `${node.target.join(' ')} ${node.failureSummary}`).slice(0, 4).join('\n    ')}`)
  assert.ok(found.length === 0, `${what}:\n${found.join('\n')}`)
}

export function artefacts() {
  const directory = process.env.MEANTIME_TEST_ARTEFACTS ?? join(root, 'target/console/screenshots')
  mkdirSync(directory, { recursive: true })
  return directory
}

/** Every page with data, by name. */
export function pages(ids, schedule) {
  return {
    home: '/',
    instances: '/instances',
    'instances-selected': `/instances?selected=${ids.reminder}`,
    'instances-filtered': '/instances?status=running&waitingFor=timer',
    'instance-flow': `/instances/${ids.reminder}`,
    'instance-process': `/instances/${ids.picked}?tab=timers`,
    'instance-incident': `/instances/${ids.order}?tab=history`,
    'instance-journey': `/instances/${ids.escalation}`,
    'instance-ended': `/instances/${ids.trip}?tab=tasks`,
    tasks: '/tasks',
    'tasks-steps': '/tasks?tab=steps',
    'tasks-workers': '/tasks?tab=workers',
    timers: '/timers',
    schedules: '/schedules',
    schedule: `/schedules/${schedule}`,
    forecast: '/forecast',
    definitions: '/definitions',
    'definition-graph': '/definitions/order',
    'definition-source': '/definitions/reminder',
    deploy: '/deploy?name=reminder&version=1',
    incidents: '/incidents',
    missing: '/nowhere',
  }
}
