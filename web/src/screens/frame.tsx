import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, Outlet, useNavigate, useRouterState } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { body, onSignedOut, platform, team } from '../lib/api'
import { allCommands, onKey, shortcuts, useCommands, type Command } from '../lib/keys'
import { useMe, useRole } from '../lib/me'
import { plain, visible } from '../lib/show'
import { setTheme, theme, type Theme } from '../lib/theme'
import { Button, Dialog, Loading, Problem, To } from '../ui/kit'
import { Toasts } from '../ui/toast'
import { t } from '../texts'
import { SignIn } from './login'

// What is around every screen: the way to the others, who is signed in and in which team, the palette and the shortcuts.

const places: { to: string; name: string; keys: string; icon: string; insider?: boolean }[] = [
  { to: '/', name: t.nav.today, keys: 'g h', icon: 'M3 10.5 12 3l9 7.5V21h-6v-6H9v6H3z' },
  { to: '/tasks', name: t.nav.tasks, keys: 'g t', icon: 'M4 5h16v11H9l-5 4z' },
  { to: '/scans', name: t.nav.scans, keys: 'g s', icon: 'M12 3a9 9 0 1 0 9 9M12 7a5 5 0 1 0 5 5M12 12 19 5' },
  { to: '/findings', name: t.nav.findings, keys: 'g f', icon: 'M12 3 22 20H2zM12 10v5M12 17.5v.5' },
  { to: '/assets', name: t.nav.assets, keys: 'g a', icon: 'M4 4h16v7H4zM4 13h16v7H4zM8 7.5h.01M8 16.5h.01' },
  { to: '/templates', name: t.nav.templates, keys: 'g p', icon: 'M9 4 3 12l6 8M15 4l6 8-6 8' },
  { to: '/cves', name: t.nav.cves, keys: 'g v', icon: 'M12 3 4 6v6c0 4.5 3.5 8 8 9 4.5-1 8-4.5 8-9V6zM12 8v5M12 16v.5' },
  { to: '/knowledge', name: t.nav.knowledge, keys: 'g k', icon: 'M4 5c3-1.5 6-1 8 1 2-2 5-2.5 8-1v14c-3-1.5-6-1-8 1-2-2-5-2.5-8-1zM12 6v14' },
  { to: '/network', name: t.nav.network, keys: 'g n', icon: 'M4 8h15M15 4l4 4-4 4M20 16H5M9 12l-4 4 4 4' },
  { to: '/reports', name: t.nav.reports, keys: 'g r', icon: 'M4 20V4M4 20h16M8 16v-5M12 16V8M16 16v-7' },
  { to: '/agents', name: t.nav.work, keys: 'g w', icon: 'M5 4h14v6H5zM5 14h14v6H5zM9 7h.01M9 17h.01', insider: true },
  { to: '/inbox', name: t.nav.inbox, keys: 'g i', icon: 'M4 13 7 4h10l3 9v7H4zM4 13h5l1 3h4l1-3h5' },
  { to: '/reference', name: t.nav.docs, keys: 'g d', icon: 'M5 3h11l3 3v15H5zM9 9h6M9 13h6M9 17h4' },
  { to: '/settings/account', name: t.nav.settings, keys: 'g ,', icon: 'M4 7h10M18 7h2M4 17h2M10 17h10M14 4v6M8 14v6' },
]

export function Frame() {
  const me = useMe()
  const navigate = useNavigate()
  const queries = useQueryClient()
  const [ended, setEnded] = useState(false)
  const known = useRef('')
  if (me.data) known.current = me.data.email

  useEffect(() => onSignedOut(() => setEnded(true)), [])
  useEffect(() => {
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [])
  const status = (me.error as { status?: number } | null)?.status
  const strange = status === 403 && team.id !== ''
  useEffect(() => { // a team that the person has left
    if (strange) { team.set(''); queries.clear() }
  }, [strange, queries])
  const out = status === 401 && !known.current
  useEffect(() => {
    const { pathname, search, hash } = window.location
    if (!out || pathname === '/login') return // it is on its way
    void navigate({ to: '/login', search: { next: pathname === '/' ? undefined : pathname + search } as never, hash: hash.slice(1), replace: true })
  }, [out, navigate])

  if (out || strange) return null
  if (me.error && !known.current) return <Problem error={me.error} retry={() => void me.refetch()} />
  if (!known.current) return <Loading what={t.nav.session} />
  return (
    <div className="grid min-h-screen grid-cols-1 max-md:grid-rows-[auto_1fr] md:grid-cols-[13.5rem_minmax(0,1fr)]">
      <a href="#main" className="sr-only z-50 rounded-sm bg-canvas px-3 py-2 focus:not-sr-only focus:absolute focus:top-2 focus:left-2">{t.nav.skip}</a>
      <Side />
      <main id="main" tabIndex={-1} className="min-w-0 px-4 py-5 outline-none md:px-6"><Outlet /></main>
      <Toasts />
      {/* The session ended in the middle of work: what is on the screen stays. */}
      {ended && (
        <Dialog title={t.login.again} onClose={() => undefined}>
          <p className="mb-4 text-sm text-muted">{t.login.againText}</p>
          <SignIn email={known.current} onDone={() => { setEnded(false); void queries.invalidateQueries() }} />
        </Dialog>
      )}
    </div>
  )
}

function Side() {
  const me = useMe()
  const role = useRole()
  const navigate = useNavigate()
  const queries = useQueryClient()
  const [palette, setPalette] = useState(false)
  const [help, setHelp] = useState(false)
  const [open, setOpen] = useState(false)
  const path = useRouterState({ select: (s) => s.location.pathname })
  useEffect(() => setOpen(false), [path])

  const signOut = async () => {
    await fetch('/sign-out', { method: 'POST', headers: { 'X-Requested-With': 'vedette-console' }, redirect: 'manual' })
    team.set('')
    queries.clear()
    location.assign('/login')
  }
  const signOutEverywhere = async () => {
    await platform.DELETE('/v1/user/sessions', { params: { query: {} } })
    await signOut()
  }
  const there = places.filter((p) => !p.insider || role.insider)
  const go = (to: string) => () => void navigate({ to } as never)
  const commands: Command[] = [
    { id: 'palette', label: t.palette.open, group: t.groups.general, keys: 'Ctrl-K', run: () => setPalette(true) },
    { id: 'help', label: t.keys.title, group: t.groups.general, keys: '?', run: () => setHelp(true) },
    ...there.map((p) => ({ id: `go ${p.to}`, label: t.palette.go(p.name), group: t.groups.go, keys: p.keys, run: go(p.to) })),
    ...(role.writes ? [
      { id: 'new task', label: t.tasks.new, group: t.groups.go, keys: 'c t', run: go('/tasks/new') },
      { id: 'new scan', label: t.scans.new, group: t.groups.go, keys: 'c s', run: go('/scans/new') },
    ] : []),
    { id: 'go triage', label: t.palette.go(t.triage.title), group: t.groups.go, keys: 'g q', run: go('/triage') },
    { id: 'light', label: t.theme.light, group: t.groups.general, run: () => setTheme('light') },
    { id: 'dark', label: t.theme.dark, group: t.groups.general, run: () => setTheme('dark') },
    { id: 'sign out', label: t.nav.signOut, group: t.groups.general, run: () => void signOut() },
  ]
  useCommands(commands)
  const spaces = me.data?.workspaces ?? []
  const now = spaces.find((w) => w.active)
  const inbox = useQuery({ queryKey: ['inbox', team.id, 'count'], refetchInterval: 60_000, retry: false, queryFn: () => body(platform.GET('/v1/user/notifications', { params: { query: { unread: true, limit: 1 } as never } })) })
  const unread = inbox.data?.unread ?? 0
  return (
    <div className="no-print flex flex-col border-line bg-panel max-md:border-b md:sticky md:top-0 md:h-screen md:border-r">
      <div className="flex items-center gap-2 px-3 py-2.5 md:py-3.5">
        <To to="/" className="flex items-center gap-2 font-semibold tracking-tight"><img src="/console/icon.svg" alt="" width="22" height="22" />Vedette</To>
        <Button className="ml-auto md:hidden" aria-expanded={open} aria-controls="nav" onClick={() => setOpen(!open)}>{t.nav.menu}</Button>
      </div>
      <div id="nav" className={`flex min-h-0 flex-1 flex-col ${open ? '' : 'max-md:hidden'}`}>
        <button type="button" onClick={() => setPalette(true)} className="field mx-3 mb-3 flex !w-auto items-center gap-2 text-left text-muted">
          <span className="flex-1">{t.palette.find}</span><span className="kbd">Ctrl K</span>
        </button>
        <nav aria-label={t.nav.main} className="flex flex-col gap-0.5 px-2">
          {there.map((p) => (
            <Link key={p.to} to={p.to as '/'} data-in={(p.to.startsWith('/settings') && path.startsWith('/settings')) || undefined} activeOptions={{ exact: p.to === '/', includeSearch: false }}
              className="flex min-h-8 items-center gap-2.5 rounded-sm px-2 text-sm font-medium text-muted hover:bg-hover hover:text-text aria-[current]:bg-accent-soft aria-[current]:text-accent data-in:bg-accent-soft data-in:text-accent">
              <svg viewBox="0 0 24 24" width="16" height="16" fill="none" stroke="currentColor" strokeWidth="2" strokeLinejoin="round" strokeLinecap="round" aria-hidden="true"><path d={p.icon} /></svg>
              {p.name}
              {p.to === '/inbox' && unread > 0 && <span className="ml-auto rounded-full bg-accent px-1.5 text-xs leading-5 text-on-accent">{unread > 99 ? '99+' : unread}<span className="sr-only"> {t.inbox.isUnread}</span></span>}
            </Link>
          ))}
        </nav>
        <div className="mt-auto border-t border-line p-3 text-sm">
          {spaces.length > 1 ? (
            <label className="mb-2 block">
              <span className="text-xs text-muted">{t.nav.team}</span>
              <select className="field" value={now?.team_id ?? ''} onChange={(e) => { team.set(e.target.value); queries.clear(); void navigate({ to: '/' }) }}>
                {spaces.map((w) => <option key={w.team_id} value={w.team_id}>{plain(w.name.slice(0, 60))}</option>)}
              </select>
            </label>
          ) : <p className="mb-2 truncate font-medium">{visible(now?.name ?? me.data?.team_name ?? '')}</p>}
          <details>
            <summary className="truncate text-muted hover:text-text" title={me.data?.email}>{me.data?.email}</summary>
            <div className="mt-2 flex flex-col items-start gap-1">
              <p className="text-xs text-muted">{t.roles[role.role]}</p>
              <ThemeChoice />
              <button type="button" className="link py-0.5" onClick={() => setHelp(true)}>{t.keys.title}</button>
              <button type="button" className="link py-0.5" onClick={() => void signOut()}>{t.nav.signOut}</button>
              <button type="button" className="link py-0.5" onClick={() => void signOutEverywhere()}>{t.nav.signOutEverywhere}</button>
            </div>
          </details>
        </div>
      </div>
      {palette && <Palette onClose={() => setPalette(false)} />}
      {help && <Help onClose={() => setHelp(false)} />}
    </div>
  )
}

function ThemeChoice() {
  const [now, setNow] = useState(theme)
  return (
    <label className="flex items-center gap-2 py-0.5 text-xs text-muted">{t.theme.title}
      <select className="field !min-h-7 !w-auto !py-0" value={now} onChange={(e) => { setTheme(e.target.value as Theme); setNow(e.target.value as Theme) }}>
        {(['system', 'light', 'dark'] as const).map((x) => <option key={x} value={x}>{t.theme[x]}</option>)}
      </select>
    </label>
  )
}

/** Finds a command, or opens what an id names. */
function Palette({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate()
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const list = useRef<HTMLUListElement>(null)
  const [all] = useState(() => allCommands().filter((c) => c.id !== 'palette'))
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const found: Command[] = all.filter((c) => words.every((w) => c.label.toLowerCase().includes(w)))
  const id = text.trim()
  const open = (to: string) => () => void navigate({ to } as never)
  if (/^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(id)) found.unshift({ id: 'task', label: t.palette.task(id), group: '', run: open(`/tasks/${id}`) })
  if (/^[0-9a-v]{20}$/.test(id)) found.unshift({ id: 'scan', label: t.palette.scan(id), group: '', run: open(`/scans/${id}`) })
  if (/^[0-9a-v]{26}$/.test(id)) found.unshift({ id: 'finding', label: t.palette.finding(id), group: '', run: open(`/findings/${id}`) })
  if (id) found.push({ id: 'search', label: t.palette.search(id), group: '', run: () => void navigate({ to: '/findings', search: { q: id } } as never) })
  const chosen = Math.min(at, found.length - 1)
  const run = (c: Command | undefined) => { if (c) { onClose(); setTimeout(c.run) } }
  useEffect(() => { list.current?.children[chosen]?.scrollIntoView({ block: 'nearest' }) }, [chosen])
  return (
    <Dialog title={t.palette.title} onClose={onClose}>
      <input autoFocus className="field" role="combobox" aria-expanded="true" aria-controls="palette" aria-label={t.palette.find} aria-activedescendant={found[chosen] ? `cmd-${chosen}` : undefined}
        placeholder={t.palette.hint} value={text} onChange={(e) => { setText(e.target.value); setAt(0) }}
        onKeyDown={(e) => {
          if (e.key === 'ArrowDown') { e.preventDefault(); setAt(Math.min(chosen + 1, found.length - 1)) }
          if (e.key === 'ArrowUp') { e.preventDefault(); setAt(Math.max(chosen - 1, 0)) }
          if (e.key === 'Enter') { e.preventDefault(); run(found[chosen]) }
        }} />
      <ul id="palette" ref={list} role="listbox" aria-label={t.palette.title} className="mt-2 max-h-80 overflow-auto">
        {found.map((c, i) => (
          <li key={c.id} id={`cmd-${i}`} role="option" aria-selected={i === chosen} onMouseMove={() => setAt(i)} onClick={() => run(c)}
            className="flex min-h-8 cursor-pointer items-center gap-2 rounded-sm px-2 text-sm aria-selected:bg-accent-soft aria-selected:text-accent">
            <span className="min-w-0 flex-1 truncate">{c.label}</span>{c.keys && <span className="kbd">{c.keys}</span>}
          </li>
        ))}
      </ul>
    </Dialog>
  )
}

function Help({ onClose }: { onClose: () => void }) {
  const [on, setOn] = useState(shortcuts.on)
  const [all] = useState(() => allCommands().filter((c) => c.keys))
  const groups = [...new Set(all.map((c) => c.group))]
  return (
    <Dialog title={t.keys.title} onClose={onClose} wide>
      <label className="mb-3 flex items-center gap-2 text-sm">
        <input type="checkbox" checked={on} onChange={(e) => { shortcuts.set(e.target.checked); setOn(e.target.checked) }} />{t.keys.on}
      </label>
      <div className="grid gap-x-8 gap-y-4 sm:grid-cols-2">
        {groups.map((g) => (
          <section key={g}>
            <h3 className="mb-1 text-xs font-semibold text-muted">{g}</h3>
            <dl className="text-sm">
              {all.filter((c) => c.group === g).map((c) => (
                <div key={c.id} className="flex items-center gap-2 py-0.5"><dt className="flex-1">{c.label}</dt><dd><span className="kbd">{c.keys}</span></dd></div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  )
}
