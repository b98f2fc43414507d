import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { body, platform, team, type Platform } from '../lib/api'
import { useAct } from '../lib/act'
import { eventOf, useFindings } from '../lib/findings'
import { Raw, Shown } from '../lib/show'
import { Button, Card, Chip, Facts, Problem, Severity, To } from '../ui/kit'
import { t } from '../texts'

const o = t.editor

/** Tries the text that is in the editor, saved or not: on a target, by a scan of it alone, or on a response. */
export function Trials({ text, name, protocol, valid }: { text: string; name: string; protocol: string; valid: boolean }) {
  const [on, setOn] = useState<'target' | 'response'>('response')
  return (
    <Card title={o.try} actions={(
      <span role="group" aria-label={o.tryOn} className="flex gap-1">
        {(['response', 'target'] as const).map((x) => <Button key={x} kind={on === x ? '' : 'quiet'} aria-pressed={on === x} className="!min-h-7" onClick={() => setOn(x)}>{o.on[x]}</Button>)}
      </span>
    )}>
      <div hidden={on !== 'target'}><OnTarget text={text} name={name} valid={valid} /></div>
      <div hidden={on !== 'response'}><OnResponse text={text} protocol={protocol} valid={valid} /></div>
    </Card>
  )
}

const example = 'HTTP/1.1 200 OK\nContent-Type: text/html\n\n<title>It works</title>\n'

function OnResponse({ text, protocol, valid }: { text: string; protocol: string; valid: boolean }) {
  const [response, setResponse] = useState(example)
  const run = useAct(() => body(platform.POST('/v1/template/test', { body: { template: text, response } })), [], undefined, { shown: true })
  useEffect(() => { if (run.status !== 'idle' && run.status !== 'pending') run.reset() }, [text, response]) // eslint-disable-line react-hooks/exhaustive-deps
  const x = run.data
  if (protocol && protocol !== 'http') return <p className="text-sm text-muted">{o.onlyHTTP}</p>
  return (
    <form onSubmit={(e) => { e.preventDefault(); run.mutate() }}>
      <label htmlFor="response" className="mb-1 block text-sm font-medium">{o.response}</label>
      <textarea id="response" className="field font-mono" rows={8} spellCheck={false} maxLength={1_000_000} required value={response} onChange={(e) => setResponse(e.target.value)} aria-describedby="response-hint" />
      <p id="response-hint" className="mt-1 text-xs text-muted">{o.responseHint}</p>
      {run.error && <Problem error={run.error} />}
      {x && (
        <div role="status" className="mt-3 grid gap-2 text-sm">
          <p className="flex flex-wrap items-center gap-2"><Chip tone={x.matched ? 'bad' : x.reason ? 'wait' : 'good'}>{x.matched ? o.matched : x.reason ? o.untested : o.unmatched}</Chip><span className="text-muted">{o.sent(x.requests)}</span>{x.reason && <Shown text={x.reason} max={400} />}</p>
          {x.matches.map((m, i) => <Facts key={i} of={[[o.matcher, <Shown key="m" text={m.matcher_name} max={120} />], [o.extractor, <Shown key="e" text={m.extractor_name} max={120} />], [t.findings.extracted, m.extracted_results.length > 0 && <Raw key="x" label={t.findings.extracted} text={m.extracted_results.join('\n')} />]].filter(([, v]) => v) as never} />)}
        </div>
      )}
      <div className="mt-3 flex justify-end"><Button type="submit" kind="primary" disabled={run.isPending || !valid}>{run.isPending ? o.running : o.test}</Button></div>
    </form>
  )
}

const over = ['finished', 'failed', 'stopped']

function OnTarget({ text, name, valid }: { text: string; name: string; valid: boolean }) {
  const [url, setURL] = useState('')
  const [scan, setScan] = useState<string>()
  const start = useAct(() => body(platform.POST('/v1/scans', { body: {
    name: o.scanName(name), targets: [url.trim()], private_templates: [{ name: `${name}.yaml`, contents: text }], disable_global_alert_config: true, disable_global_report_config: true,
  } as Platform['ScanRequest'] })), ['scans'], (x) => setScan((x as { id: string }).id), { shown: true })
  const state = useQuery({
    queryKey: ['scan', team.id, scan, 'trial'], enabled: !!scan, refetchInterval: (q) => (over.includes(String(q.state.data?.status)) ? false : 700),
    queryFn: () => body(platform.GET('/v1/scans/{scan_id}', { params: { path: { scan_id: scan! } } })),
  })
  const status = String(state.data?.status ?? '')
  const ended = over.includes(status)
  const found = useFindings({ scan_ids: scan, limit: 10 }, !!scan && ended)
  return (
    <form onSubmit={(e) => { e.preventDefault(); start.mutate() }}>
      <label htmlFor="trial-url" className="mb-1 block text-sm font-medium">{o.target}</label>
      <div className="flex flex-wrap gap-2"><input id="trial-url" className="field !w-auto min-w-0 flex-1" required maxLength={2000} placeholder="https://store.example.com" value={url} onChange={(e) => setURL(e.target.value)} aria-describedby="trial-hint" />
        <Button type="submit" kind="primary" disabled={start.isPending || !valid || (!!scan && !ended)}>{scan && !ended ? o.running : o.run}</Button></div>
      <p id="trial-hint" className="mt-1 text-xs text-muted">{o.targetHint}</p>
      {start.error && <Problem error={start.error} />}
      {state.error && <Problem error={state.error} />}
      {scan && (
        <div role="status" className="mt-3 grid gap-2 text-sm">
          <p className="flex flex-wrap items-center gap-2"><Chip tone={status === 'finished' ? 'good' : ended ? 'bad' : 'busy'}>{t.scanState[status] ?? o.running}</Chip>
            <To to={`/scans/${scan}`} className="link">{t.findings.openScan}</To><To to={`/scans/${scan}`} search={{ tab: 'coverage' }} className="link">{t.scans.tabs.coverage}</To></p>
          {ended && found.data && (found.data.data.length === 0 ? <p>{o.unmatched}</p> : (
            <ul className="grid gap-1">{found.data.data.map((r) => <li key={r.vuln_id} className="flex items-center gap-2"><Severity of={eventOf(r)?.info.severity} short /><To to={`/findings/${r.vuln_id}`} className="hover:text-accent"><Shown text={eventOf(r)?.['matched-at'] || r.target} max={160} /></To></li>)}</ul>
          ))}
        </div>
      )}
    </form>
  )
}
