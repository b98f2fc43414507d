import { useState } from 'react'
import { useAct } from '../lib/act'
import { check, headers, type Platform } from '../lib/api'
import { ofFindings } from '../lib/findings'
import { count } from '../lib/format'
import { Shown } from '../lib/show'
import { Button, Dialog, Facts, Field, Problem, To } from '../ui/kit'
import { t } from '../texts'

const x = t.imports
type Answer = Platform['ImportAnswer']

/** Takes in what another tool found. The file is sent as it is, however long. */
async function send(file: File, format: string, name: string): Promise<Answer> {
  const query = new URLSearchParams({ format: format || 'auto', file_name: file.name, ...(name ? { name } : {}) })
  const answer = await check(await fetch(`/v1/scans/import?${query.toString()}`, { method: 'POST', headers: { ...headers(), 'Content-Type': 'application/octet-stream' }, body: file }))
  return (await answer.json()) as Answer
}

export function ImportReport({ onClose }: { onClose: () => void }) {
  const [file, setFile] = useState<File>()
  const [format, setFormat] = useState('')
  const [name, setName] = useState('')
  const run = useAct(() => send(file!, format.trim(), name.trim()), ['scans', 'assets', ...ofFindings], undefined, { shown: true })
  return (
    <Dialog title={x.title} onClose={onClose} wide={!!run.data}>
      {run.data ? <Done of={run.data} onClose={onClose} onMore={() => { run.reset(); setFile(undefined); setName('') }} /> : (
        <form onSubmit={(e) => { e.preventDefault(); if (file && !run.isPending) run.mutate() }}>
          <Field label={x.file} hint={x.fileHint}>{(p) => <input {...p} type="file" autoFocus required className="field !py-1.5" onChange={(e) => { run.reset(); setFile(e.target.files?.[0]) }} />}</Field>
          <div className="grid gap-x-3 sm:grid-cols-2">
            <Field label={x.format} hint={x.formatHint}>{(p) => <input {...p} className="field" maxLength={40} spellCheck={false} placeholder="auto" value={format} onChange={(e) => setFormat(e.target.value)} />}</Field>
            <Field label={x.name} hint={x.nameHint}>{(p) => <input {...p} className="field" maxLength={200} value={name} onChange={(e) => setName(e.target.value)} />}</Field>
          </div>
          {run.error && <Problem error={run.error} />}
          <div className="flex justify-end gap-2"><Button onClick={onClose}>{t.cancel}</Button><Button kind="primary" type="submit" disabled={!file || run.isPending}>{run.isPending ? x.running : x.run}</Button></div>
        </form>
      )}
    </Dialog>
  )
}

/** What was in the report: nothing is dropped in silence. */
function Done({ of, onClose, onMore }: { of: Answer; onClose: () => void; onMore: () => void }) {
  const r = of.report
  return (
    <div role="status" className="grid gap-4 text-sm">
      <p className="font-medium">{x.done(r?.tool || r?.format || '')}</p>
      {r && <Facts of={(['accepted', 'new', 'merged', 'known', 'repeated', 'ignored', 'rejected'] as const).filter((k) => k === 'accepted' || r[k] > 0).map((k) => [x.counts[k]!, <span key={k} className={k === 'rejected' ? 'text-high' : ''}>{count(r[k])}</span>])} />}
      {r && r.ignored > 0 && <section><h3 className="mb-1 text-xs font-semibold text-muted">{x.ignored}</h3><ul>{Object.entries(r.ignored_reasons).slice(0, 20).map(([why, k]) => <li key={why}>{count(k)} × <Shown text={why} max={200} /></li>)}</ul></section>}
      {r && r.rejections.length > 0 && (
        <section><h3 className="mb-1 text-xs font-semibold text-muted">{x.rejected}</h3>
          <ul className="max-h-48 overflow-auto" tabIndex={0} aria-label={x.rejected}>{r.rejections.slice(0, 100).map((i, n) => <li key={n}><span className="text-muted"><Shown text={[i.file, i.line ? x.at(i.line) : i.position].filter(Boolean).join(', ')} max={120} /></span> <Shown text={i.reason} max={300} /></li>)}{r.rejected > 100 && <li className="text-muted">{t.more(r.rejected - 100)}</li>}</ul></section>
      )}
      <div className="flex flex-wrap justify-end gap-2"><Button onClick={onMore}>{x.another}</Button><Button onClick={onClose}>{t.close}</Button>{of.id && <To to={`/scans/${of.id}`} className="btn btn-primary">{x.open}</To>}</div>
    </div>
  )
}
