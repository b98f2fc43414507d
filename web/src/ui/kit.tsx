import { Link, useNavigate, type LinkProps } from '@tanstack/react-router'
import { useEffect, useId, useLayoutEffect, useRef, useState, type ButtonHTMLAttributes, type ReactNode } from 'react'
import { ApiError } from '../lib/api'
import { ago, count, date } from '../lib/format'
import { write } from '../lib/search'
import { visible } from '../lib/show'
import { t } from '../texts'

// The parts that screens are made of. Dialogs and fields are the browser's own: they need no styles or markup from scripts,
// which the page's policy refuses, and bring their keyboard and screen-reader behaviour along.

export function Button({ kind = '', className = '', ...rest }: ButtonHTMLAttributes<HTMLButtonElement> & { kind?: '' | 'primary' | 'danger' | 'quiet' }) {
  return <button type="button" className={`btn ${kind && `btn-${kind}`} ${className}`} {...rest} />
}

/** A link to a view, with the search as plain strings. */
export function To({ to, search, className, children, ...rest }: { to: string; search?: Record<string, string | undefined>; className?: string; children: ReactNode } & Record<string, unknown>) {
  return <Link {...({ to, search, className, ...rest } as unknown as LinkProps)}>{children}</Link>
}

/** A link of a row, of which a list has hundreds. It does not look whether it leads to where one is, as To does at each change of the address. */
export function RowLink({ to, search, className, children }: { to: string; search?: Record<string, string | undefined>; className?: string; children: ReactNode }) {
  const navigate = useNavigate()
  return (
    <a href={to + write(search ?? {})} className={className} onClick={(e) => {
      if (e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return // the browser's own: a tab, a window, a file
      e.preventDefault()
      void navigate({ to, search: search ?? {} } as never)
    }}>{children}</a>
  )
}

/** The head of a screen. Its heading takes the focus when the address changes, so that screen readers say where they are. */
export function Head({ title, children, crumb, note }: { title: ReactNode; children?: ReactNode; crumb?: ReactNode; note?: ReactNode }) {
  const h = useRef<HTMLHeadingElement>(null)
  useEffect(() => { if (document.activeElement === document.body || document.activeElement?.closest('nav')) h.current?.focus({ preventScroll: true }) }, [])
  return (
    <header className="mb-4 flex flex-wrap items-start gap-x-4 gap-y-2">
      <div className="min-w-0 flex-1 basis-64">
        {crumb && <p className="mb-0.5 text-sm text-muted">{crumb}</p>}
        <h1 ref={h} tabIndex={-1} className="text-xl leading-tight font-semibold tracking-tight [overflow-wrap:anywhere]">{title}</h1>
        {note && <p className="mt-1 text-sm text-muted">{note}</p>}
      </div>
      <div className="no-print flex flex-wrap items-center gap-2">{children}</div>
    </header>
  )
}

export function useTitle(title: string) {
  useEffect(() => { document.title = `${title.slice(0, 80)} · Vedette` }, [title])
}

export function Card({ title, children, actions, className = '', flush = false }: { title?: ReactNode; children: ReactNode; actions?: ReactNode; className?: string; flush?: boolean }) {
  const id = useId()
  return (
    <section className={`card ${className}`} aria-labelledby={title ? id : undefined}>
      {title && (
        <div className="flex min-h-10 flex-wrap items-center gap-2 border-b border-line px-3 py-1.5">
          <h2 id={id} className="flex-1 text-sm font-semibold">{title}</h2>
          {actions}
        </div>
      )}
      <div className={flush ? '' : 'p-3'}>{children}</div>
    </section>
  )
}

/** What a list says when it is empty: what comes here, and one thing to do. */
export function Empty({ title, children, action }: { title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <div className="flex flex-col items-center px-6 py-12 text-center">
      <p className="font-medium">{title}</p>
      {children && <p className="mt-1 max-w-prose text-sm text-muted">{children}</p>}
      {action && <div className="mt-4">{action}</div>}
    </div>
  )
}

export function Loading({ what }: { what: string }) {
  const [late, setLate] = useState(false)
  useEffect(() => { const timer = setTimeout(() => setLate(true), 300); return () => clearTimeout(timer) }, [])
  return <p role="status" data-loading="" className="px-3 py-6 text-sm text-muted">{late ? t.loading(what) : '\u00a0'}</p>
}

/** A failure: what to do, and the id that finds it in the server's log. */
export function Problem({ error, retry }: { error: unknown; retry?: () => void }) {
  const e = error instanceof ApiError ? error : undefined
  const message = e?.message || (error instanceof Error ? error.message : t.errors.unknown)
  return (
    <div role="alert" className="m-3 rounded-sm border border-high bg-high-soft px-3 py-2 text-sm text-high">
      <p className="font-medium [overflow-wrap:anywhere]">{visible(message.slice(0, 1000))}</p>
      {e?.id && <p className="mt-1">{t.errors.inLog} <code className="select-all">{e.id}</code> <Copy text={e.id} /></p>}
      {retry && <p className="mt-2"><Button onClick={retry}>{t.retry}</Button></p>}
    </div>
  )
}

export function Copy({ text, label = t.copy }: { text: string; label?: string }) {
  const [done, setDone] = useState(false)
  useEffect(() => { if (!done) return; const timer = setTimeout(() => setDone(false), 1600); return () => clearTimeout(timer) }, [done])
  return (
    <button type="button" className="no-print rounded-sm px-1.5 text-xs leading-6 font-medium text-accent hover:bg-hover"
      onClick={() => { void navigator.clipboard?.writeText(text).then(() => setDone(true)) }}>
      <span aria-live="polite">{done ? t.copied : label}</span>
    </button>
  )
}

export function Time({ at, className = '' }: { at: string | null | undefined; className?: string }) {
  return at ? <time dateTime={at} title={date(at)} className={`whitespace-nowrap ${className}`}>{ago(at)}</time> : <span className={className}>–</span>
}

const severities: Record<string, [string, string]> = {
  critical: ['C', 'bg-critical-soft text-critical'], high: ['H', 'bg-high-soft text-high'], medium: ['M', 'bg-medium-soft text-medium'],
  low: ['L', 'bg-low-soft text-low'], info: ['I', 'bg-info-soft text-info'], unknown: ['?', 'bg-unknown-soft text-unknown'],
}

/** A severity, by letter and word as well as by colour. */
export function Severity({ of, short = false }: { of: string | undefined; short?: boolean }) {
  const name = of && severities[of] ? of : 'unknown'
  const [letter, look] = severities[name]!
  return (
    <span className={`inline-flex items-center gap-1.5 rounded-sm px-1.5 text-xs leading-5 font-semibold ${look}`} title={t.severity[name]}>
      <span aria-hidden="true" className="font-mono">{letter}</span>
      <span className={short ? 'sr-only' : ''}>{t.severity[name]}</span>
    </span>
  )
}

const chips: Record<string, string> = {
  good: 'bg-good-soft text-good', busy: 'bg-accent-soft text-accent', bad: 'bg-high-soft text-high', wait: 'bg-medium-soft text-medium', calm: 'bg-info-soft text-info',
}

/** A state in words, coloured by how urgent it is. */
export function Chip({ tone = 'calm', title, children }: { tone?: string; title?: string; children: ReactNode }) {
  return <span title={title} className={`inline-block max-w-full truncate rounded-sm px-1.5 align-bottom text-xs leading-5 font-medium ${chips[tone] ?? chips.calm}`}>{children}</span>
}

/** A sentence may name what people have named: what is hidden in it is written out. */
const told = (of: ReactNode): ReactNode => (typeof of === 'string' ? visible(of) : of)

/** A dialog over the page. Escape and a click beside it close it. */
export function Dialog({ title, onClose, children, wide = false }: { title: ReactNode; onClose: () => void; children: ReactNode; wide?: boolean }) {
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  const [before] = useState(() => document.activeElement)
  useLayoutEffect(() => {
    // It is open from the start, so that what has autoFocus could take the focus; showModal would give it to the first button.
    const d = ref.current!
    const wanted = document.activeElement
    d.close()
    d.showModal()
    if (wanted instanceof HTMLElement && d.contains(wanted)) wanted.focus()
    return () => { d.close(); if (before instanceof HTMLElement) before.focus({ preventScroll: true }) }
  }, [before])
  return (
    <dialog ref={ref} open aria-labelledby={id} onCancel={(e) => { e.preventDefault(); onClose() }}
      onMouseDown={(e) => { if (e.target === ref.current) onClose() }}
      className={`m-auto w-full ${wide ? 'max-w-3xl' : 'max-w-lg'} rounded-lg border border-line bg-canvas p-0 text-text shadow-layer max-sm:mx-2 max-sm:w-auto`}>
      <div className="flex items-center gap-2 border-b border-line py-2 pr-2 pl-4">
        <h2 id={id} className="min-w-0 flex-1 text-base font-semibold [overflow-wrap:anywhere]">{told(title)}</h2>
        <Button kind="quiet" aria-label={t.close} onClick={onClose} className="w-8 !px-0">✕</Button>
      </div>
      <div className="max-h-[75vh] overflow-auto p-4">{children}</div>
    </dialog>
  )
}

/** What is chosen in a list: beside it where there is room, else as a sheet over its end, which takes the focus. */
export function Sheet({ label, children }: { label: string; children: ReactNode }) {
  const sheet = useRef<HTMLElement>(null)
  useEffect(() => {
    if (window.matchMedia('(min-width: 80rem)').matches) return // xl, from which the list has two columns
    const before = document.activeElement
    sheet.current?.focus({ preventScroll: true })
    return () => { if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true }) }
  }, [])
  return (
    <aside ref={sheet} tabIndex={-1} aria-label={label}
      className="card overflow-auto outline-none max-xl:fixed max-xl:inset-x-0 max-xl:bottom-0 max-xl:z-20 max-xl:max-h-[82dvh] max-xl:rounded-b-none max-xl:border-edge max-xl:shadow-layer md:max-xl:left-[13.5rem] xl:sticky xl:top-4 xl:max-h-[calc(100vh-2rem)] print:static print:max-h-none">
      {children}
    </aside>
  )
}

/** Asks before what cannot be undone. */
export function Confirm({ title, children, action, onYes, onClose, busy, error }: { title: string; children: ReactNode; action: string; onYes: () => void; onClose: () => void; busy?: boolean; error?: unknown }) {
  return (
    <Dialog title={title} onClose={onClose}>
      <div className="text-sm [overflow-wrap:anywhere]">{told(children)}</div>
      {error ? <Problem error={error} /> : null}
      <div className="mt-4 flex justify-end gap-2">
        <Button onClick={onClose} autoFocus>{t.cancel}</Button>
        <Button kind="danger" disabled={busy} onClick={onYes}>{action}</Button>
      </div>
    </Dialog>
  )
}

export function Field({ label, hint, error, children }: { label: string; hint?: ReactNode; error?: string; children: (props: { id: string; 'aria-describedby'?: string; 'aria-invalid'?: boolean }) => ReactNode }) {
  const id = useId()
  return (
    <div className="mb-4">
      <label htmlFor={id} className="mb-1 block text-sm font-medium">{label}</label>
      {children({ id, 'aria-describedby': hint || error ? `${id}-hint` : undefined, 'aria-invalid': error ? true : undefined })}
      {(hint || error) && <p id={`${id}-hint`} className={`mt-1 text-xs ${error ? 'text-high' : 'text-muted'}`}>{error || hint}</p>}
    </div>
  )
}

/** Links that scroll, on a narrow screen sideways: the one that is shown is in view. */
export function useNowInView(now: string) {
  const nav = useRef<HTMLElement>(null)
  useEffect(() => {
    const link = nav.current?.querySelector<HTMLElement>('[data-now], [aria-current]')
    if (!nav.current || !link) return
    nav.current.scrollLeft = link.offsetLeft - (nav.current.clientWidth - link.offsetWidth) / 2
    nav.current.scrollTop = link.offsetTop - (nav.current.clientHeight - link.offsetHeight) / 2
  }, [now])
  return nav
}

/** A list of choices of which one is shown, by links whose search says so. */
export function Tabs({ of, now, param = 'tab' }: { of: [id: string, label: ReactNode][]; now: string; param?: string }) {
  const nav = useNowInView(now)
  return (
    <nav ref={nav} aria-label={t.views} className="no-print relative mb-4 flex gap-1 overflow-x-auto border-b border-line">
      {of.map(([id, label], i) => (
        <Link key={id} {...({ to: '.', search: (old: Record<string, string>) => ({ ...old, [param]: i === 0 ? undefined : id }), resetScroll: false, activeOptions: { exact: true, includeSearch: true, explicitUndefined: true } } as unknown as LinkProps)}
          data-now={now === id || undefined}
          className="-mb-px border-b-2 border-transparent px-2.5 py-1.5 text-sm font-medium whitespace-nowrap text-muted hover:text-text data-now:border-accent data-now:text-text">
          {label}
        </Link>
      ))}
    </nav>
  )
}

/** How far something is, from 0 to 100. */
export function Bar({ percent, label }: { percent: number; label: string }) {
  return (
    <div role="progressbar" aria-label={label} aria-valuenow={Math.round(percent)} aria-valuemin={0} aria-valuemax={100} className="h-1.5 w-full overflow-hidden rounded-full bg-hover">
      <div className="h-full rounded-full bg-accent transition-[width]" style={{ width: `${Math.max(0, Math.min(100, percent))}%` }} />
    </div>
  )
}

/** Names and values, such as of a scan. */
export function Facts({ of }: { of: [name: string, value: ReactNode][] }) {
  return (
    <dl className="grid grid-cols-[max-content_minmax(0,1fr)] gap-x-4 gap-y-1.5 text-sm">
      {of.filter(([, v]) => v !== undefined && v !== null && v !== '' && v !== false).map(([name, value]) => (
        <div key={name} className="contents"><dt className="text-muted">{name}</dt><dd className="min-w-0 [overflow-wrap:anywhere]">{value}</dd></div>
      ))}
    </dl>
  )
}

/**
 * For a table of the class cards, which has its rows as cards on a narrow screen (styles.css): each cell gets the name of
 * its column, but for the first, and the second where the first is a severity; and the roles that it loses by that look.
 */
export function useCards(labels = true) {
  const table = useRef<HTMLTableElement>(null)
  useLayoutEffect(() => {
    const heads = [...(table.current?.tHead?.rows[0]?.cells ?? [])].map((h) => h.textContent ?? '')
    const plain = heads[0] === t.findings.col.severity ? 2 : 1
    // What is there already is not written again: each write has the browser look at the styles of a hundred rows.
    for (const row of table.current?.tBodies[0]?.rows ?? []) {
      if (!row.role) row.role = 'row'
      for (const [i, cell] of [...row.cells].entries()) {
        if (!cell.role) cell.role = 'cell'
        if (!labels) continue
        if (i >= plain && heads[i] && cell.dataset.label !== heads[i]) cell.dataset.label = heads[i]
        cell.toggleAttribute('data-line', i === plain - 1)
        cell.toggleAttribute('data-blank', !cell.textContent?.trim() && !cell.querySelector('input, button, select, [role]'))
      }
    }
  })
  return table
}

/** A small table, for at most some hundred rows. */
export function Table({ head, children, label }: { head: ReactNode[]; children: ReactNode; label: string }) {
  const table = useCards()
  return (
    <div className="relative overflow-x-auto" tabIndex={0} role="region" aria-label={label}>
      <table ref={table} role="table" className="cards w-full border-collapse text-left text-sm">
        <thead role="rowgroup"><tr role="row" className="border-b border-line text-xs text-muted">{head.map((h, i) => <th key={i} role="columnheader" scope="col" className="px-3 py-1.5 whitespace-nowrap">{h}</th>)}</tr></thead>
        <tbody role="rowgroup" className="[&_td]:px-3 [&_td]:py-1.5 [&_td]:align-top [&_tr]:border-b [&_tr]:border-line [&_tr:hover]:bg-panel [&_tr:last-child]:border-0">{children}</tbody>
      </table>
    </div>
  )
}

/** Which page of a long list is shown, and the way to the others; near: somebody is about to go to one. */
/** The way through a list's pages. pending: how many rows there are is not known yet, at least total. */
export function Pages({ page, total, pending = false, size, go, near }: { page: number; total: number; pending?: boolean; size: number; go: (page: number) => void; near?: (page: number) => void }) {
  const last = Math.max(0, Math.ceil(total / size) - 1)
  return (
    <nav aria-label={t.pages.title} className="no-print flex flex-wrap items-center gap-2 border-t border-line px-3 py-1.5 text-sm">
      <span className="flex-1 text-muted">{t.pages.rows(count(page * size + 1), count(Math.min(total, (page + 1) * size)), pending ? '' : count(total))}</span>
      <Button disabled={page === 0} onClick={() => go(page - 1)}>{t.pages.previous}</Button>
      <form onSubmit={(e) => { e.preventDefault(); go(Math.max(0, Math.min(last, Number(new FormData(e.currentTarget).get('page')) - 1 || 0))) }}>
        <input key={page} name="page" className="field !w-16" inputMode="numeric" aria-label={t.pages.go} defaultValue={page + 1} />
      </form>
      <span className="text-muted">{pending ? t.pages.counting : t.pages.of(count(last + 1))}</span>
      <Button disabled={page >= last} onClick={() => go(page + 1)} onPointerEnter={() => near?.(page + 1)} onFocus={() => near?.(page + 1)}>{t.pages.next}</Button>
    </nav>
  )
}
