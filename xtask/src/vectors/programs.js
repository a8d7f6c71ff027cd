// Runs each program of the input to its end, with a virtual clock, and writes it with its output.
'use strict'
const AsyncFunction = (async () => {}).constructor
const show = new Function(SHOW + '; return show')()
const programs = require('fs').readFileSync(0, 'utf8').split('\n').filter(it => it)
// Node has it from version 22 on.
Promise.withResolvers ??= () => {
  const all = {}
  all.promise = new Promise((resolve, reject) => Object.assign(all, { resolve, reject }))
  return all
}

const settle = () => new Promise(done => setImmediate(() => setImmediate(done)))

let lost
process.on('unhandledRejection', error => lost?.(error))

const run = async text => {
  const output = []
  const timers = []
  let [now, ended] = [0, false]
  const write = line => { if (!ended) output.push(line) }
  const log = (...values) => write(values.map(show).join(' '))
  const sleep = time => new Promise(done => timers.push({ at: now + time, done }))
  const fail = error => {
    const isObject = typeof error === 'object' && error !== null
    write('! ' + (error instanceof Error ? error.name : isObject ? 'object' : show(error)))
    ended = true
  }
  lost = fail
  let pending = true
  let main
  try {
    main = new AsyncFunction('log', 'sleep', text)
  } catch (error) {
    return '! ' + error.name
  }
  main(log, sleep).then(() => { pending = false }, fail)
  for (;;) {
    await settle()
    if (ended || !pending) break
    timers.sort((one, other) => one.at - other.at)
    const next = timers.shift()
    if (!next) {
      write('! never')
      break
    }
    now = next.at
    next.done()
  }
  ended = true
  return output.join('\n')
}

;(async () => {
  for (const line of programs) {
    const output = await run(JSON.parse(line))
    process.stdout.write(line + '\t' + JSON.stringify(output) + '\n')
  }
})()
