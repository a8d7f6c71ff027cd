/**
 * What happens, as it happens: one stream of server-sent events for each filter in use.
 *
 * ```text
 *   GET /events?instance=… ─► turns ─► subscribers (patch what they show)
 *        │ too many turns in a second: the stream is closed, and subscribers reload every few
 *        └ seconds instead, so that watching costs the engine little when it is busy
 * ```
 *
 * It is read with `fetch`: an `EventSource` could not send the key.
 */

import { send, type Schemas } from './api'

export type TurnEvent = Schemas['TurnEvent']
export type LiveFilter = { instance?: string; definition?: string }

const TURNS_PER_SECOND = 200
const PAUSE_MS = 5000
const RETRY_MS = [500, 1000, 2000, 5000, 10_000]

type Listener = { turn: (event: TurnEvent) => void; reload?: (() => void) | undefined }

class Stream {
  readonly listeners = new Set<Listener>()
  #abort: AbortController | undefined
  #last: string | undefined
  #failures = 0
  #wait: ReturnType<typeof setTimeout> | undefined

  constructor(
    readonly filter: LiveFilter,
    readonly owner: Live,
  ) {}

  open(): void {
    if (this.#abort) return
    const abort = new AbortController()
    this.#abort = abort
    void this.#read(abort.signal).catch(() => {
      if (abort.signal.aborted) return
      this.close()
      const wait = RETRY_MS[Math.min(this.#failures++, RETRY_MS.length - 1)]
      this.#wait = setTimeout(() => this.open(), wait)
    })
  }

  close(): void {
    clearTimeout(this.#wait)
    this.#abort?.abort()
    this.#abort = undefined
    this.owner.count()
  }

  get isOpen(): boolean {
    return this.#failures === 0 && this.#abort !== undefined
  }

  async #read(signal: AbortSignal): Promise<void> {
    const query = new URLSearchParams(this.filter as Record<string, string>)
    const headers = this.#last ? { 'Last-Event-ID': this.#last } : undefined
    const response = await send(`${location.origin}/api/v1/events?${query}`, {
      signal,
      ...(headers && { headers }),
    })
    if (!response.ok || !response.body) throw new Error(String(response.status))
    this.#failures = 0
    this.owner.count()
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    let second = { begin: performance.now(), turns: 0 }
    for (;;) {
      const { value, done } = await reader.read()
      if (done) throw new Error('the stream ended')
      text += value
      const blocks = text.split('\n\n')
      text = blocks.pop() ?? ''
      for (const block of blocks) this.#dispatch(block)
      const now = performance.now()
      if (now - second.begin > 1000) second = { begin: now, turns: 0 }
      second.turns += blocks.length
      if (second.turns > TURNS_PER_SECOND) {
        this.#pause()
        return
      }
    }
  }

  #dispatch(block: string): void {
    let payload = ''
    for (const line of block.split('\n')) {
      if (line.startsWith('id:')) this.#last = line.slice(3).trim()
      else if (line.startsWith('data:')) payload += line.slice(5)
    }
    if (!payload) return
    const event = JSON.parse(payload) as TurnEvent
    for (const listener of this.listeners) listener.turn(event)
  }

  #pause(): void {
    this.close()
    this.#last = undefined
    this.#wait = setTimeout(() => {
      for (const listener of this.listeners) listener.reload?.()
      this.open()
    }, PAUSE_MS)
  }
}

class Live {
  /** Whether something is watched and every stream is open. */
  connected = $state(false)
  /** Counts requests to load everything again. */
  version = $state(0)
  #streams = new Map<string, Stream>()

  /** Calls back for each turn until the returned function is called. */
  subscribe(
    filter: LiveFilter,
    turn: (event: TurnEvent) => void,
    reload?: () => void,
  ): () => void {
    const name = JSON.stringify(filter)
    const stream = this.#streams.get(name) ?? new Stream(filter, this)
    this.#streams.set(name, stream)
    const listener = { turn, reload }
    stream.listeners.add(listener)
    if (!document.hidden) stream.open()
    return () => {
      stream.listeners.delete(listener)
      if (stream.listeners.size > 0) return
      this.#streams.delete(name)
      stream.close()
    }
  }

  refresh(): void {
    this.version += 1
  }

  count(): void {
    const streams = [...this.#streams.values()]
    this.connected = streams.length > 0 && streams.every((stream) => stream.isOpen)
  }

  /** Nobody looks at a hidden tab. What happened meanwhile is loaded when it is looked at again. */
  visibility(): void {
    for (const stream of this.#streams.values()) {
      if (document.hidden) stream.close()
      else stream.open()
    }
    if (!document.hidden) this.refresh()
  }
}

export const live = new Live()

document.addEventListener('visibilitychange', () => live.visibility())

/** Reloads at most once in `everyMs`, at the end of it at the latest. For use in components. */
export function reloadLive(filter: () => LiveFilter, reload: () => void, everyMs = 700): void {
  let timer: ReturnType<typeof setTimeout> | undefined
  const soon = () => {
    timer ??= setTimeout(() => {
      timer = undefined
      reload()
    }, everyMs)
  }
  $effect(() => {
    const stop = live.subscribe(filter(), soon, soon)
    return () => {
      stop()
      clearTimeout(timer)
      timer = undefined
    }
  })
  let seen = live.version
  $effect(() => {
    if (live.version === seen) return
    seen = live.version
    reload()
  })
}
