import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useAct } from '../lib/act'
import { body, platform, team, type Platform } from '../lib/api'
import { ofFindings, severities, useUndo, type Everything } from '../lib/findings'
import { Shown } from '../lib/show'
import { Button, Copy, Dialog, Field, Problem } from '../ui/kit'
import { toast } from '../ui/toast'
import { t } from '../texts'
import { About } from './finding-work'
import type { Vulnerability } from './finding-evidence'

type Mapping = Platform['SeverityMapping']
type Rated = { vuln_id: string; template_id: string; event?: { info: { severity?: string; classification?: { 'cvss-metrics'?: string } } } | null }
const changed = [...ofFindings, 'severities']

/** The team's own severity of a finding: that of its weakness alone comes before that of its template. */
function useOwn(f: Rated | undefined): Mapping | undefined {
  const found = useQuery({ queryKey: ['severities', team.id], queryFn: () => body(platform.GET('/v1/scans/config/severity')) })
  const of = (found.data?.custom_severity_mappings ?? []).filter((m) => f && m.template_id === f.template_id)
  return of.find((m) => m.vuln_id === f?.vuln_id) ?? of.find((m) => !m.vuln_id)
}

/** Says that the team has given a finding another severity than its template's, and why. */
export function OwnSeverity({ f, writes }: { f: Vulnerability; writes: boolean }) {
  const own = useOwn(f)
  const drop = useAct(() => platform.DELETE('/v1/scans/config/severity', { body: { ids: [own!.id] } }), changed, () => toast(t.severityOwn.dropped))
  if (!own) return null
  return (
    <div className="mb-4 rounded-md border border-line bg-panel px-3 py-2 text-sm">
      <p>
        <span className="font-medium">{t.severityOwn.is(t.severity[own.custom_severity] ?? own.custom_severity, !own.vuln_id)}</span>
        {own.original_severity && ` ${t.severityOwn.was(t.severity[own.original_severity] ?? own.original_severity)}`}
      </p>
      {own.reason && <p className="mt-1 whitespace-pre-line"><Shown text={own.reason} max={2000} /></p>}
      {own.cvss_vector && <p className="mt-1 text-muted">CVSS {own.cvss_score?.toFixed(1)} <code className="text-xs break-all"><Shown text={own.cvss_vector} max={300} /></code> <Copy text={own.cvss_vector} label={t.findings.copyVector} /></p>}
      {writes && <p className="no-print mt-2"><Button disabled={drop.isPending} onClick={() => drop.mutate()}>{t.severityOwn.drop}</Button></p>}
    </div>
  )
}

/** Gives findings, or all of their templates, the team's own severity: in a word, or by a CVSS vector. */
export function SeverityDialog({ list, all: everything, onClose }: { list: Rated[]; all?: Everything; onClose: () => void }) {
  const undo = useUndo()
  const one = list.length === 1 && !everything ? list[0] : undefined
  const own = useOwn(one)
  const templates = [...new Set(list.map((x) => x.template_id))]
  const [by, setBy] = useState<'word' | 'vector'>(own?.cvss_vector ? 'vector' : 'word')
  const [word, setWord] = useState<string>(list[0]?.event?.info.severity ?? 'unknown')
  const [vector, setVector] = useState(own?.cvss_vector ?? one?.event?.info.classification?.['cvss-metrics'] ?? '')
  const [all, setAll] = useState(false)
  const [reason, setReason] = useState(own?.reason ?? '')
  const set = useAct(async () => {
    const rated = { reason: reason.trim() || undefined, ...(by === 'word' ? { custom_severity: word as never } : { cvss_vector: vector.trim() }) }
    if (everything) return body(platform.POST('/v1/scans/config/severity', { body: { filter: everything.filter, ...rated } }))
    for (const of of all ? templates.map((template_id) => ({ template_id })) : list.map((x) => ({ template_id: x.template_id, vuln_id: x.vuln_id }))) await platform.POST('/v1/scans/config/severity', { body: { ...of, ...rated } })
    return undefined
  }, changed, (done) => { onClose(); const change = done?.change_id; toast(done ? t.severityOwn.setAll(done.changed ?? 0) : t.severityOwn.set(list.length), change ? () => void undo([change]) : undefined) }, { shown: true })
  return (
    <Dialog title={t.severityOwn.title} onClose={onClose}>
      <About all={everything} />
      <form onSubmit={(e) => { e.preventDefault(); set.mutate() }}>
        <fieldset className="mb-4">
          <legend className="mb-1 text-sm font-medium">{t.severityOwn.by}</legend>
          {!one && !everything && <p className="mb-1 text-sm text-muted">{t.findings.chosen(list.length)}</p>}
          {(['word', 'vector'] as const).map((b) => (
            <label key={b} className="flex min-h-8 items-center gap-2 rounded-sm px-2 hover:bg-hover"><input type="radio" name="by" autoFocus={b === by} checked={by === b} onChange={() => setBy(b)} />{t.severityOwn.how[b]}</label>
          ))}
        </fieldset>
        {by === 'word' ? (
          <Field label={t.findings.col.severity}>{(p) => <select {...p} className="field" value={word} onChange={(e) => setWord(e.target.value)}>{severities.map((s) => <option key={s} value={s}>{t.severity[s]}</option>)}</select>}</Field>
        ) : (
          <Field label={t.severityOwn.vector} hint={t.severityOwn.vectorHint}>{(p) => <input {...p} className="field font-mono" required maxLength={500} spellCheck={false} value={vector} onChange={(e) => setVector(e.target.value)} />}</Field>
        )}
        {!everything && <fieldset className="mb-4">
          <legend className="mb-1 text-sm font-medium">{t.severityOwn.of}</legend>
          {[false, true].map((a) => (
            <label key={String(a)} className="flex min-h-8 items-center gap-2 rounded-sm px-2 hover:bg-hover"><input type="radio" name="of" checked={all === a} onChange={() => setAll(a)} /><span>{a ? <>{t.severityOwn.template(templates.length)} <Shown text={templates.join(', ')} max={160} /></> : t.severityOwn.weakness(list.length)}</span></label>
          ))}
        </fieldset>}
        <Field label={t.findings.reason} hint={t.severityOwn.reasonHint}>{(p) => <textarea {...p} className="field" rows={2} maxLength={2000} value={reason} onChange={(e) => setReason(e.target.value)} />}</Field>
        {set.error ? <Problem error={set.error} /> : null}
        <div className="flex justify-end gap-2"><Button onClick={onClose}>{t.cancel}</Button><Button kind="primary" type="submit" disabled={set.isPending}>{t.severityOwn.action}</Button></div>
      </form>
    </Dialog>
  )
}
