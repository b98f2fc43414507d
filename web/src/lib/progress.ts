import type { StreamEvent } from './stream'

// What the events of a task amount to: its steps, what the agent says, what was denied. Each event is added and let go, and
// each part has a most, so that a page that stays open on a long task stays as small as it was; the journal has all.

export type Data = Record<string, unknown>

/** A step of the built-in planner, or a tool call of a model. args and output are cut to what is shown. */
export type Step = { key: string; tool: string; status: string; args?: string; output: string; error: string; done?: number; total?: number; at: string; end?: string; subagent?: string; callId?: string; note?: string }

export type Progress = {
  seen: number // events
  last?: { seq: number; at: string }
  steps: Step[]
  earlier: number // steps that are not kept any more
  speech: string // its end
  plan?: Data
  finish?: Data
  denied: StreamEvent[]
  notes: StreamEvent[]
}

export const nothingYet: Progress = { seen: 0, steps: [], earlier: 0, speech: '', denied: [], notes: [] }

const mostSteps = 500, mostSpeech = 20_000, mostText = 8000, mostLines = 200

export const text = (v: unknown): string => (typeof v === 'string' ? v : v === undefined || v === null ? '' : JSON.stringify(v))

// A copy: a slice would keep the whole of a long text in memory.
const copy = (s: string) => JSON.parse(JSON.stringify(s)) as string
const end = (s: string) => (s.length > mostText ? copy(`…${s.slice(-mostText)}`) : s)
const start = (v: unknown) => { const s = typeof v === 'string' ? v : JSON.stringify(v, null, 2); return s.length > mostText ? copy(s.slice(0, mostText)) : s }

/** The progress after further events. */
export function add(old: Progress, events: StreamEvent[]): Progress {
  const now: Progress = { ...old, seen: old.seen + events.length, denied: [...old.denied], notes: [...old.notes] }
  const steps = new Map(old.steps.map((s) => [s.key, s]))
  const change = (key: string, c: Partial<Step>) => { const s = steps.get(key); if (s) steps.set(key, { ...s, ...c }) }
  let speech = ''
  for (const e of events) {
    const data = e.data
    const inner = (data.data ?? {}) as Data
    const builtin = `s${text(data.seq)}`
    now.last = { seq: e.seq, at: e.at }
    switch (e.type) {
      case 'step-started': steps.set(builtin, { key: builtin, tool: text(data.tool), status: 'running', output: '', error: '', at: e.at }); break
      case 'progress': change(builtin, { note: text(data.text), done: Number(data.done), total: Number(data.total) }); break
      case 'step-finished':
        change(builtin, { status: text(data.status) || 'completed', output: end(text(data.words)), error: text(data.error), end: e.at, note: undefined })
        break
      case 'tool-input-available': {
        const key = text(data.id)
        steps.set(key, { key, callId: key, tool: text(data.tool || inner.tool), status: 'running', args: inner.args === undefined ? undefined : start(inner.args), output: '', error: '', at: e.at, subagent: text(data.subagent_run_id) })
        break
      }
      case 'tool-progress': change(text(data.id), { note: text(data.text) }); break
      case 'tool-output-available':
        change(text(data.id), { status: text(inner.status), output: end(text(((inner.result ?? {}) as Data).text)), error: text(inner.error), end: e.at, note: undefined })
        break
      case 'text-delta': speech += text(data.text); break
      case 'plan': now.plan = data; break
      case 'finish': now.finish = data; break
      case 'denied': now.denied.push(e); break
      case 'note': now.notes.push(e); break
    }
  }
  if (speech) now.speech = copy((old.speech + speech).slice(-mostSpeech))
  now.steps = [...steps.values()]
  if (now.steps.length > mostSteps) {
    now.earlier += now.steps.length - mostSteps
    now.steps = now.steps.slice(-mostSteps)
  }
  now.denied = now.denied.slice(-mostLines)
  now.notes = now.notes.slice(-mostLines)
  return now
}
