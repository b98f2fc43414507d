import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { body, platform, team } from '../lib/api'
import { date } from '../lib/format'
import { useAssignees, useUndo } from '../lib/findings'
import { useMe, useRole } from '../lib/me'
import { Shown } from '../lib/show'
import { Button, Card, Chip, Empty, Field, Loading, Problem, Time } from '../ui/kit'
import { failed, toast } from '../ui/toast'
import { t } from '../texts'

/** What happened to a finding, the latest first, with a way back, and what people say about it. */
export function History({ id, writes }: { id: string; writes: boolean }) {
  return <div className="grid items-start gap-4 *:min-w-0 lg:grid-cols-2"><Timeline id={id} writes={writes} /><Comments id={id} /></div>
}

const talk = new Set(['comment', 'comment_edited', 'comment_deleted'])
const undoable = new Set(['status_change', 'resolved', 'reopened', 'severity_change', 'labels_change', 'assignee_change', 'joined', 'split'])

function Timeline({ id, writes }: { id: string; writes: boolean }) {
  const undo = useUndo()
  const found = useQuery({ queryKey: ['timeline', team.id, id], queryFn: () => body(platform.GET('/v1/scans/vuln/{vuln_id}/timeline', { params: { path: { vuln_id: id } } })) })
  const word = (v: string | undefined) => <Shown text={t.status[v ?? ''] ?? v} max={200} className="font-medium" />
  return (
    <Card title={t.findings.history} flush>
      {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={t.findings.tabs.history} /> : (
        <ol className="divide-y divide-line">
          {found.data.events.filter((e) => !talk.has(e.event_type)).reverse().map((e, i) => (
            <li key={i} className="flex items-start gap-3 px-3 py-2 text-sm">
              <span className="min-w-0 flex-1">
                <span className="text-xs text-muted">{date(e.timestamp)} </span>
                <span className={`block ${e.undone ? 'line-through opacity-70' : ''}`}>
                  {t.event[e.event_type] ?? e.event_type}
                  {e.old_value && <> {word(e.old_value)} →</>}{e.new_value && <> {word(e.new_value)}</>}
                  {e.event_type === 'assignee_change' && !e.new_value && <> {t.findings.nobody}</>}
                </span>
                {e.reason && <span className="block"><Shown text={e.reason} max={2000} /></span>}
                {e.until && <span className="block text-xs text-muted">{t.findings.untilText(date(e.until))}</span>}
                {e.description && <span className="block text-xs text-muted"><Shown text={e.description.replace(/^(vuln_status|severity|labels|assignee), /, '')} max={600} /></span>}
              </span>
              {e.undone ? <Chip>{t.findings.isUndone}</Chip> : writes && e.change_id && undoable.has(e.event_type) && (
                <Button className="no-print" aria-label={t.findings.undoOf(t.event[e.event_type] ?? e.event_type)} onClick={() => void undo([e.change_id!])}>{t.undo}</Button>
              )}
            </li>
          ))}
        </ol>
      )}
    </Card>
  )
}

function Comments({ id }: { id: string }) {
  const me = useMe()
  const role = useRole()
  const queries = useQueryClient()
  const [editing, setEditing] = useState('')
  const [sent, setSent] = useState(0) // the field for a new comment is emptied when one was sent, and only then
  const path = { vuln_id: id }
  const found = useQuery({ queryKey: ['comments', team.id, id], queryFn: () => body(platform.GET('/v1/scans/vulns/{vuln_id}/comments', { params: { path, query: { limit: 200 } as never } })) })
  const refresh = () => { for (const k of ['comments', 'timeline']) void queries.invalidateQueries({ queryKey: [k] }) }
  const told = (a: { mentioned: string[]; not_members: string[] }) => {
    if (a.not_members.length > 0) toast(t.comments.strangers(a.not_members.join(', ')))
    else if (a.mentioned.length > 0) toast(t.comments.told(a.mentioned.join(', ')))
    refresh()
  }
  const add = useMutation({ mutationFn: (text: string) => body(platform.POST('/v1/scans/vulns/{vuln_id}/comments', { params: { path }, body: { text } })), onSuccess: (a) => { setSent((n) => n + 1); told(a) } })
  const edit = useMutation({ mutationFn: (text: string) => body(platform.PATCH('/v1/scans/vulns/{vuln_id}/comments/{comment_id}', { params: { path: { ...path, comment_id: editing } }, body: { text } })), onSuccess: (a) => { setEditing(''); told(a) } })
  const remove = useMutation({ mutationFn: (comment_id: string) => platform.DELETE('/v1/scans/vulns/{vuln_id}/comments/{comment_id}', { params: { path: { ...path, comment_id } } }), onSuccess: () => { toast(t.comments.deleted); refresh() }, onError: failed })
  return (
    <Card title={t.comments.title} flush>
      {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={t.comments.title} /> : found.data.data.length === 0 ? <Empty title={t.comments.none}>{role.writes ? t.comments.noneText : ''}</Empty> : (
        <ol className="divide-y divide-line">
          {found.data.data.map((c) => (
            <li key={c.comment_id} className="px-3 py-2 text-sm">
              <p className="mb-1 flex flex-wrap items-center gap-x-2 text-xs text-muted">
                <Shown text={c.author} max={120} className="font-medium text-text" /><Time at={c.created_at} />{c.edited_at && <span>{t.comments.edited}</span>}
                {role.writes && c.author === me.data?.email && editing !== c.comment_id && (
                  <span className="no-print ml-auto flex gap-3"><button type="button" className="link min-h-6" onClick={() => setEditing(c.comment_id)}>{t.comments.edit}</button><button type="button" className="link min-h-6" onClick={() => remove.mutate(c.comment_id)}>{t.delete}</button></span>
                )}
              </p>
              {editing === c.comment_id
                ? <Writing start={c.text} label={t.comments.edit} action={t.save} busy={edit.isPending} error={edit.error} onSend={(text) => edit.mutate(text)} onCancel={() => setEditing('')} />
                : <p className="whitespace-pre-line"><Shown text={c.text} max={10_000} /></p>}
            </li>
          ))}
        </ol>
      )}
      {role.writes && <div className="no-print border-t border-line p-3"><Writing key={sent} label={t.comments.add} action={t.comments.send} busy={add.isPending} error={add.error} onSend={(text) => add.mutate(text)} /></div>}
    </Card>
  )
}

/** A comment being written. An @ offers the members of the team. */
function Writing({ start = '', label, action, busy, error, onSend, onCancel }: { start?: string; label: string; action: string; busy: boolean; error: unknown; onSend: (text: string) => void; onCancel?: () => void }) {
  const [text, setText] = useState(start)
  const [at, setAt] = useState(0)
  const [chosen, setChosen] = useState(0)
  const field = useRef<HTMLTextAreaElement>(null)
  const role = useRole()
  const members = useAssignees(role.insider)
  const begun = /(?:^|\s)@([\w.+-]*(?:@[\w.-]*)?)$/.exec(text.slice(0, at))?.[1]
  const offered = begun === undefined ? [] : members.filter((m) => m.startsWith(begun.toLowerCase()) && m !== begun).slice(0, 6)
  const take = (email: string) => {
    const before = text.slice(0, at - begun!.length)
    setText(`${before}${email} ${text.slice(at)}`)
    setAt(before.length + email.length + 1)
    field.current?.focus()
  }
  return (
    <form onSubmit={(e) => { e.preventDefault(); onSend(text) }}>
      <Field label={label} hint={t.comments.hint}>
        {(p) => <textarea {...p} ref={field} className="field" rows={3} maxLength={10_000} required value={text} autoFocus={!!onCancel}
          aria-autocomplete="list" aria-controls={offered.length > 0 ? `${p.id}-people` : undefined}
          onChange={(e) => { setText(e.target.value); setAt(e.target.selectionStart); setChosen(0) }} onSelect={(e) => setAt(e.currentTarget.selectionStart)}
          onKeyDown={(e) => {
            if (offered.length > 0 && (e.key === 'ArrowDown' || e.key === 'ArrowUp')) { e.preventDefault(); setChosen((chosen + (e.key === 'ArrowDown' ? 1 : offered.length - 1)) % offered.length) }
            else if (offered.length > 0 && (e.key === 'Enter' || e.key === 'Tab')) { e.preventDefault(); take(offered[Math.min(chosen, offered.length - 1)]!) }
            else if (e.key === 'Enter' && (e.ctrlKey || e.metaKey) && text.trim()) { e.preventDefault(); onSend(text) }
          }} />}
      </Field>
      {offered.length > 0 && (
        <ul className="-mt-2 mb-3 rounded-sm border border-line" aria-label={t.comments.people}>
          {offered.map((m, i) => <li key={m}><button type="button" className={`block min-h-7 w-full px-2 text-left text-sm ${i === chosen ? 'bg-accent-soft text-accent' : 'hover:bg-hover'}`} onClick={() => take(m)}>{m}</button></li>)}
        </ul>
      )}
      {error ? <Problem error={error} /> : null}
      <div className="flex justify-end gap-2">{onCancel && <Button onClick={onCancel}>{t.cancel}</Button>}<Button type="submit" disabled={busy || !text.trim()}>{action}</Button></div>
    </form>
  )
}
