import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { agent, body, team, type Agent } from '../lib/api'
import { count } from '../lib/format'
import { statuses } from '../lib/findings'
import { useRole } from '../lib/me'
import type { Search } from '../lib/search'
import { Shown } from '../lib/show'
import { Button, Dialog, Field, Problem, To } from '../ui/kit'
import { toast } from '../ui/toast'
import { t } from '../texts'

// A view that a team has saved is a queue of its triage (docs/use/triage.md): a selection of findings with a name, which
// can be looked at as a list, or worked off one by one.

export type Queue = Agent['TriageQueue']
type Selection = NonNullable<Agent['TriageQueueRequest']['selection']>

export const useQueues = () => useQuery({ queryKey: ['queues', team.id], staleTime: 15_000, queryFn: () => body(agent.GET('/api/v1/triage/queues')) })

const list = (s: string | undefined) => s?.split(',').map((x) => x.trim()).filter(Boolean)
const flag = (s: string | undefined) => (s === '1' ? true : s === '0' ? false : undefined)

/** What a queue selects of what a search shows: all but the time, the scan and who works on it, which queues do not know. */
function selectionOf(s: Search): Selection {
  return {
    severity: list(s.severity), vuln_status: s.status === 'any' ? [...statuses] : list(s.status), search: s.q, host: list(s.host), domain: list(s.domain),
    port: list(s.port)?.map(Number).filter((n) => n > 0), templates: list(s.template), category: list(s.category), tags: list(s.tag), labels: list(s.label),
    is_regression: flag(s.regression), is_internal: flag(s.internal), is_ticket: flag(s.ticket),
  } as Selection
}

/** The search that shows what a queue selects. */
export function searchOf(q: Selection): Search {
  const out: Record<string, string | undefined> = {
    severity: q.severity?.join(','), status: (q.vuln_status?.length ?? 0) === statuses.length ? 'any' : q.vuln_status?.join(','), q: q.search, host: q.host?.join(','), domain: q.domain?.join(','),
    port: q.port?.join(','), template: q.templates?.join(','), category: q.category?.join(','), tag: q.tags?.join(','), label: q.labels?.join(','),
    regression: said(q.is_regression), internal: said(q.is_internal), ticket: said(q.is_ticket),
  }
  return Object.fromEntries(Object.entries(out).filter(([, v]) => v)) as Search
}
const said = (b: boolean | undefined) => (b === undefined ? undefined : b ? '1' : '0')

const same = (a: Search, b: Search) => JSON.stringify(Object.entries(a).sort()) === JSON.stringify(Object.entries(b).sort())

/** The saved views of the team, and what saves the present one. */
export function Views({ search, filtered }: { search: Search; filtered: boolean }) {
  const role = useRole()
  const [saving, setSaving] = useState(false)
  const found = useQueues()
  const all = found.data?.queues ?? []
  const now = searchOf(selectionOf(search))
  if (all.length === 0 && !(filtered && role.writes)) return null
  return (
    <nav aria-label={t.triage.views} className="no-print mb-3 flex flex-wrap items-center gap-2 text-sm">
      {all.slice(0, 12).map((q) => (
        <To key={q.id} to="/findings" search={searchOf(q.selection)} data-now={same(searchOf(q.selection), now) || undefined} className="inline-flex min-h-7 items-center gap-1.5 rounded-full border border-line px-3 text-muted hover:bg-hover data-now:border-accent data-now:bg-accent-soft data-now:text-accent">
          <Shown text={q.name} max={40} /><span className="text-xs">{q.count_is_estimate ? `${count(q.count)}+` : count(q.count)}</span>
        </To>
      ))}
      {filtered && role.writes && !all.some((q) => same(searchOf(q.selection), now)) && <button type="button" className="link" onClick={() => setSaving(true)}>{t.triage.save}</button>}
      {all.length > 0 && <To to="/triage" className="link">{t.triage.workOff}</To>}
      {saving && <SaveView search={search} onClose={() => setSaving(false)} />}
    </nav>
  )
}

function SaveView({ search, onClose }: { search: Search; onClose: () => void }) {
  const queries = useQueryClient()
  const [name, setName] = useState('')
  const [sort, setSort] = useState<'severity' | 'oldest' | 'newest'>('severity')
  const create = useMutation({
    mutationFn: () => body(agent.POST('/api/v1/triage/queues', { body: { name, sort, selection: selectionOf(search) } })),
    onSuccess: () => { toast(t.triage.saved(name)); void queries.invalidateQueries({ queryKey: ['queues'] }); onClose() },
  })
  const lost = (['time', 'scan', 'assignee'] as const).filter((k) => search[k])
  return (
    <Dialog title={t.triage.save} onClose={onClose}>
      <form onSubmit={(e) => { e.preventDefault(); create.mutate() }}>
        <p className="mb-3 text-sm text-muted">{t.triage.saveText}</p>
        {lost.length > 0 && <p className="mb-3 rounded-sm bg-medium-soft px-3 py-2 text-sm text-medium">{t.triage.lost(lost.map((k) => t.triage.lostName[k]).join(', '))}</p>}
        <Field label={t.scans.name}>{(p) => <input {...p} autoFocus className="field" required maxLength={100} value={name} onChange={(e) => setName(e.target.value)} />}</Field>
        <Field label={t.triage.order}>{(p) => <select {...p} className="field" value={sort} onChange={(e) => setSort(e.target.value as typeof sort)}>{(['severity', 'oldest', 'newest'] as const).map((s) => <option key={s} value={s}>{t.triage.orders[s]}</option>)}</select>}</Field>
        {create.error && <Problem error={create.error} />}
        <div className="flex justify-end gap-2"><Button onClick={onClose}>{t.cancel}</Button><Button kind="primary" type="submit" disabled={create.isPending}>{t.save}</Button></div>
      </form>
    </Dialog>
  )
}
