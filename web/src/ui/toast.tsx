import { useEffect, useSyncExternalStore } from 'react'
import { ApiError } from '../lib/api'
import { useCommands } from '../lib/keys'
import { visible } from '../lib/show'
import { t } from '../texts'
import { Button } from './kit'

// Short messages of what was done, the last with a way back: its button, or z.

type Toast = { id: number; text: string; bad: boolean; undo?: () => void }

let toasts: Toast[] = []
let next = 1
const listeners = new Set<() => void>()
const set = (list: Toast[]) => { toasts = list; for (const f of listeners) f() }
const drop = (id: number) => set(toasts.filter((x) => x.id !== id))

export function toast(text: string, undo?: () => void) { set([...toasts.slice(-2), { id: next++, text, bad: false, undo }]) }

export function failed(error: unknown) {
  const e = error as Error
  set([...toasts.slice(-2), { id: next++, text: error instanceof ApiError && error.id ? `${e.message} (${error.id})` : e.message, bad: true }])
}

function One({ of }: { of: Toast }) {
  useEffect(() => {
    if (of.bad) return
    const timer = setTimeout(() => drop(of.id), 10_000)
    return () => clearTimeout(timer)
  }, [of])
  return (
    <div className={`flex items-center gap-3 rounded-md border px-3 py-2 text-sm shadow-layer ${of.bad ? 'border-high bg-high-soft text-high' : 'border-line bg-canvas'}`}>
      <span className="min-w-0 flex-1 [overflow-wrap:anywhere]">{visible(of.text)}</span>
      {of.undo && <Button onClick={() => { drop(of.id); of.undo!() }}>{t.undo} <span className="kbd" aria-hidden="true">z</span></Button>}
      <Button kind="quiet" className="w-8 !px-0" aria-label={t.close} onClick={() => drop(of.id)}>✕</Button>
    </div>
  )
}

export function Toasts() {
  const list = useSyncExternalStore((f) => { listeners.add(f); return () => { listeners.delete(f) } }, () => toasts)
  const last = list.findLast((x) => x.undo)
  useCommands(last ? [{ id: 'undo', label: t.undo, group: t.groups.general, keys: 'z', run: () => { drop(last.id); last.undo!() } }] : [])
  return (
    <div role="status" className="no-print fixed right-4 bottom-4 z-40 flex w-[26rem] max-w-[calc(100vw-2rem)] flex-col gap-2">
      {list.map((x) => <One key={x.id} of={x} />)}
    </div>
  )
}
