import { keepPreviousData, queryOptions, useQuery, useQueryClient } from '@tanstack/react-query'
import { body, platform, team, type Platform } from './api'
import { failed, toast } from '../ui/toast'
import { t } from '../texts'

export type Result = Platform['VulnerabilityResult']
export type Status = NonNullable<Result['vuln_status']>

export const statuses: Status[] = ['open', 'triaged', 'fix_in_progress', 'fixed', 'false_positive', 'accepted_risk', 'duplicate']
export const severities = ['critical', 'high', 'medium', 'low', 'info', 'unknown'] as const
export const statusTone: Record<string, string> = { open: 'bad', triaged: 'wait', fix_in_progress: 'busy', fixed: 'good' }

/** The first of a finding's events. */
export const eventOf = (r: Result) => r.event[0]

export type Query = Record<string, string | number | boolean | undefined>

/** A page of findings, and how it is asked for. */
export const pageOf = (query: Query) => queryOptions({
  queryKey: ['findings', team.id, query],
  queryFn: ({ signal }) => body(platform.GET('/v1/scans/results', { params: { query: query as never }, signal })),
})

export function useFindings(query: Query, enabled = true, refetch: number | false = false) {
  return useQuery({ ...pageOf(query), enabled, refetchInterval: refetch, placeholderData: keepPreviousData })
}

type Event = Platform['TimelineEvent']

/** The change that somebody made last of a finding, as its timeline has it; it can be undone. */
async function lastChange(id: string, is: (e: Event) => boolean): Promise<string | undefined> {
  const line = await body(platform.GET('/v1/scans/vuln/{vuln_id}/timeline', { params: { path: { vuln_id: id } } }))
  return line.events.findLast((e) => e.change_id && !e.undone && is(e))?.change_id
}

/** What a request changes of findings. */
type Change = {
  send: (ids: string[]) => Promise<unknown>
  paint: (r: Result) => Result // what the lists show before the server has answered
  moves: (r: Result) => boolean // whether it is new to a finding; one of these knows the change's id
  is: (e: Event) => boolean // the change in the timeline
  said: (n: number) => string
}

const most = 500 // ids of one request

/** Takes changes back: each finding gets what it had, unless somebody has changed it since. */
export function useUndo() {
  const refresh = useRefresh()
  return async (changes: Iterable<string>) => {
    try {
      let done = 0, kept = 0
      for (const id of changes) {
        const answer = await body(platform.POST('/v1/scans/vulns/undo', { body: { change_id: id } }))
        done += answer.changed
        kept += answer.kept
      }
      toast(t.findings.undone(done, kept))
    } catch (e) { failed(e) } finally { refresh() }
  }
}

/** What is read again when findings have changed. */
export const ofFindings = ['findings', 'finding', 'finding-counts', 'timeline', 'comments', 'scan', 'queues', 'queue', 'places', 'tickets']

function useRefresh() {
  const queries = useQueryClient()
  return () => {
    for (const key of ofFindings) void queries.invalidateQueries({ queryKey: [key] })
  }
}

function useChange() {
  const queries = useQueryClient()
  const refresh = useRefresh()
  const undo = useUndo()
  return async (list: Result[], c: Change) => {
    const all = [...new Map(list.map((r) => [r.vuln_id, r])).values()]
    const ids = new Set(all.map((r) => r.vuln_id))
    queries.setQueriesData({ queryKey: ['findings'] }, (old: Platform['ResultList'] | undefined) =>
      old && { ...old, data: old.data.map((r) => (ids.has(r.vuln_id) ? c.paint(r) : r)) })
    try {
      const changes = new Set<string>()
      for (let i = 0; i < all.length; i += most) {
        const part = all.slice(i, i + most)
        await c.send(part.map((r) => r.vuln_id))
        const id = await lastChange((part.find(c.moves) ?? part[0]!).vuln_id, c.is).catch(() => undefined)
        if (id) changes.add(id)
      }
      toast(c.said(all.length), changes.size > 0 ? () => void undo(changes) : undefined)
      return true
    } catch (e) {
      failed(e)
      return false
    } finally {
      refresh()
    }
  }
}

/** What a person decides about findings. The end is of an accepted risk alone: the findings are open again then. */
export type Decision = { status: Status; reason: string; until?: string }

const statusEvents = ['status_change', 'resolved', 'reopened']

export function useDecide() {
  const change = useChange()
  return (list: Result[], { status, reason, until }: Decision) => change(list, {
    send: (vuln_ids) => platform.PATCH('/v1/scans/vulns', { body: { vuln_ids, vuln_status: status, reason: reason || undefined, until } }),
    paint: (r) => ({ ...r, vuln_status: status }),
    moves: (r) => (r.vuln_status ?? 'open') !== status,
    is: (e) => statusEvents.includes(e.event_type) && e.new_value === status,
    said: (n) => t.findings.decided(n, t.status[status]!),
  })
}

/** Everything that a list shows on all of its pages: how many, the filter that picks them, and that filter in words. */
export type Everything = { n: number; about: boolean; filter: Platform['VulnSelection']; words: string; first: Result }

/** Decides about everything that a list shows, in one request; the answer has what takes it back. */
export function useDecideAll() {
  const refresh = useRefresh()
  const undo = useUndo()
  return async (all: Everything, { status, reason, until }: Decision) => {
    try {
      const done = await body(platform.PATCH('/v1/scans/vulns', { body: { filter: all.filter, vuln_status: status, reason: reason || undefined, until } }))
      const change = done.change_id
      toast(t.findings.decidedAll(done.changed ?? 0, t.status[status]!), change ? () => void undo([change]) : undefined)
      return true
    } catch (e) { failed(e); return false } finally { refresh() }
  }
}

/** Labels everything that a list shows. */
export function useLabelAll() {
  const refresh = useRefresh()
  const undo = useUndo()
  return async (all: Everything, labels: string[], type: 'append' | 'delete') => {
    try {
      const done = await body(platform.PATCH('/v1/scans/vulns/labels', { body: { filter: all.filter, labels, type } }))
      const change = done.change_id
      toast(t.findings.labelledAll(done.changed ?? 0, labels.join(', '), type === 'append'), change ? () => void undo([change]) : undefined)
      return true
    } catch (e) { failed(e); return false } finally { refresh() }
  }
}

/** Gives everything that a list shows to a member of the team. */
export function useAssignAll() {
  const refresh = useRefresh()
  const undo = useUndo()
  return async (all: Everything, assignee: string) => {
    try {
      await platform.PATCH('/v1/scans/vulns/assignee', { body: { filter: all.filter, assignee } })
      const change = await lastChange(all.first.vuln_id, (e) => e.event_type === 'assignee_change' && (e.new_value ?? '') === assignee).catch(() => undefined)
      toast(t.findings.assigned(all.n, assignee), change ? () => void undo([change]) : undefined)
      return true
    } catch (e) { failed(e); return false } finally { refresh() }
  }
}

/** Gives findings to a member of the team; empty: to nobody. */
export function useAssign() {
  const change = useChange()
  return (list: Result[], assignee: string) => change(list, {
    send: (vuln_ids) => platform.PATCH('/v1/scans/vulns/assignee', { body: { vuln_ids, assignee } }),
    paint: (r) => ({ ...r, assignee: assignee || undefined }),
    moves: (r) => (r.assignee ?? '') !== assignee,
    is: (e) => e.event_type === 'assignee_change' && (e.new_value ?? '') === assignee,
    said: (n) => t.findings.assigned(n, assignee),
  })
}

export function useLabel() {
  const change = useChange()
  return (list: Result[], labels: string[], type: 'append' | 'delete') => change(list, {
    send: (ids) => platform.PATCH('/v1/scans/vulns/labels', { body: { ids, labels, type } }),
    paint: (r) => ({ ...r, labels: type === 'append' ? [...new Set([...r.labels, ...labels])] : r.labels.filter((l) => !labels.includes(l)) }),
    moves: (r) => labels.some((l) => r.labels.includes(l) !== (type === 'append')),
    is: (e) => e.event_type === 'labels_change',
    said: (n) => t.findings.labelled(n, labels.join(', '), type === 'append'),
  })
}

/** Makes findings one weakness, that of the first. */
export function useJoin() {
  const refresh = useRefresh()
  const undo = useUndo()
  return async (first: Result, others: Result[]) => {
    try {
      await platform.POST('/v1/scans/vulns/join', { body: { vuln_ids: [first.vuln_id, ...others.map((r) => r.vuln_id)] } })
      const change = await lastChange(others[0]!.vuln_id, (e) => e.event_type === 'joined').catch(() => undefined)
      toast(t.findings.joined(others.length + 1), change ? () => void undo([change]) : undefined)
      return true
    } catch (e) { failed(e); return false } finally { refresh() }
  }
}

/** Makes a sighting, and all that saw the same, a weakness of its own. */
export function useSplit() {
  const refresh = useRefresh()
  const undo = useUndo()
  return async (id: string) => {
    try {
      await platform.POST('/v1/scans/vuln/{vuln_id}/split', { params: { path: { vuln_id: id } } })
      const change = await lastChange(id, (e) => e.event_type === 'split').catch(() => undefined)
      toast(t.findings.splitOff, change ? () => void undo([change]) : undefined)
      return true
    } catch (e) { failed(e); return false } finally { refresh() }
  }
}

/** Members whom findings can be given to: no guests, and nobody who has not come yet. */
export function useAssignees(enabled = true) {
  const found = useQuery({ queryKey: ['members', team.id], enabled, staleTime: 60_000, retry: false, queryFn: () => body(platform.GET('/v1/user/team/member')) })
  return (found.data?.members ?? []).filter((m) => m.status === 'active' && m.role !== 'GUEST' && !m.service).map((m) => m.email)
}
