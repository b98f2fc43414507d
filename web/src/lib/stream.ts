import { check, headers } from './api'

/** An event of a task's stream. */
export type StreamEvent = { type: string; seq: number; at: string; stream_id: string; data: Record<string, unknown> }

export type StreamState = 'connecting' | 'live' | 'waiting' | 'ended'

// A pause of at most 15 s between tries; the server's heartbeat comes each 15 s, so 40 s of silence is a dead connection.
const firstPause = 500, longestPause = 15_000, silence = 40_000

/**
 * Follows a task's stream: calls onEvents with events in order, each once, whatever happens to connections in between.
 * It asks for those after the last one it has (Last-Event-ID) when a connection ends, and stops after a final event.
 */
export function follow(
  url: string, onEvents: (events: StreamEvent[]) => void, onState: (state: StreamState) => void, isLast: (e: StreamEvent) => boolean,
): () => void {
  const stop = new AbortController()
  let last = 0, pause = firstPause
  let batch: StreamEvent[] = []
  let timer = 0
  const flush = () => { timer = 0; const b = batch; batch = []; if (b.length > 0 && !stop.signal.aborted) onEvents(b) }
  const take = (e: StreamEvent) => {
    if (!(e.seq > last)) return // seen before
    last = e.seq
    batch.push(e)
    if (timer === 0) timer = window.setTimeout(flush, 16)
  }
  const read = async (): Promise<boolean> => {
    const attempt = new AbortController()
    const end = () => attempt.abort()
    stop.signal.addEventListener('abort', end)
    let quiet = window.setTimeout(end, silence)
    try {
      const response = await check(await fetch(url, {
        headers: { ...headers(), Accept: 'text/event-stream', 'Last-Event-ID': String(last) }, signal: attempt.signal, cache: 'no-store',
      }))
      onState('live')
      pause = firstPause
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
      let text = '', done = false
      for (;;) {
        const part = await reader.read()
        if (part.done) return done
        clearTimeout(quiet)
        quiet = window.setTimeout(end, silence)
        text += part.value
        for (let i = text.indexOf('\n\n'); i >= 0; i = text.indexOf('\n\n')) {
          const data = text.slice(0, i).split('\n').filter((l) => l.startsWith('data:')).map((l) => l.slice(5).trimStart()).join('\n')
          text = text.slice(i + 2)
          if (!data) continue
          const e = JSON.parse(data) as StreamEvent
          take(e)
          if (isLast(e)) done = true
        }
      }
    } finally {
      clearTimeout(quiet)
      stop.signal.removeEventListener('abort', end)
    }
  }
  void (async () => {
    while (!stop.signal.aborted) {
      onState('connecting')
      try {
        if (await read()) { flush(); onState('ended'); return }
      } catch (e) {
        const status = (e as { status?: number }).status ?? 0
        if (status === 401 || status === 403 || status === 404) { onState('ended'); return }
      }
      if (stop.signal.aborted) return
      onState('waiting')
      await new Promise((r) => setTimeout(r, pause))
      pause = Math.min(longestPause, pause * 2)
    }
  })()
  return () => { stop.abort(); clearTimeout(timer) }
}
