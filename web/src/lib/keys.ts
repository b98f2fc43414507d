import { useEffect, useRef } from 'react'

// One list of commands is behind shortcuts, the palette and the help. A key is one character or name, or two characters
// after each other such as "g f". They rest while somebody types, and people can turn them off (WCAG 2.1.4).

export type Command = { id: string; label: string; group: string; keys?: string; run: () => void }

const commands = new Map<string, Command>()
const offKey = 'vedette.shortcuts'

export const shortcuts = {
  get on() { return localStorage.getItem(offKey) !== 'off' },
  set(on: boolean) { if (on) localStorage.removeItem(offKey); else localStorage.setItem(offKey, 'off') },
}

/** All commands that are there now, in the order of their arrival. */
export const allCommands = () => [...commands.values()]

/** Offers commands while the component is there. */
export function useCommands(list: Command[]) {
  const now = useRef(list)
  now.current = list
  const names = list.map((c) => `${c.id}\n${c.keys ?? ''}\n${c.label}`).join('\n')
  useEffect(() => {
    const mine = now.current.map((c) => c.id)
    for (const c of now.current) commands.set(c.id, { ...c, run: () => now.current.find((x) => x.id === c.id)?.run() })
    return () => { for (const id of mine) commands.delete(id) }
  }, [names])
}

const typing = (e: EventTarget | null) =>
  e instanceof HTMLElement && (e.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(e.tagName)) &&
  !(e instanceof HTMLInputElement && /^(checkbox|radio|button)$/.test(e.type))

let first = ''
let firstAt = 0

/** Runs the command of a key; used once, by the frame. */
export function onKey(e: KeyboardEvent) {
  if (e.defaultPrevented || e.altKey || e.isComposing) return
  if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === 'k') {
    e.preventDefault()
    commands.get('palette')?.run()
    return
  }
  if (e.ctrlKey || e.metaKey || !shortcuts.on || typing(e.composedPath()[0] ?? null) || document.querySelector('dialog[open]')) return
  if (e.key === 'Enter' && e.target instanceof Element && e.target.closest('a, button, summary, [role="button"]')) return
  const two = Date.now() - firstAt < 1200 ? `${first} ${e.key}` : ''
  const key = e.shiftKey && e.key.length > 1 ? `Shift+${e.key}` : e.key
  // Two keys that belong together come before the second of them alone; of the same, what came last is nearest.
  const all = [...commands.values()].reverse()
  const c = all.find((x) => x.keys === two && two !== '') ?? all.find((x) => x.keys === key)
  if (c) {
    e.preventDefault()
    first = ''
    c.run()
    return
  }
  first = e.key
  firstAt = Date.now()
}
