import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { lazy, Suspense, useCallback, useEffect, useMemo, useState } from 'react'
import { body, headers, platform, team, type Platform } from '../lib/api'
import { useAct } from '../lib/act'
import { count } from '../lib/format'
import { eventOf, useFindings } from '../lib/findings'
import { useRole } from '../lib/me'
import { useURL } from '../lib/search'
import { Shown } from '../lib/show'
import { Button, Card, Chip, Confirm, Copy, Empty, Facts, Head, Loading, Problem, Severity, Time, To, useTitle } from '../ui/kit'
import { toast } from '../ui/toast'
import { t } from '../texts'
import type { Schema } from '../lib/complete'
import { Share } from './template-share'
import { Wish } from './template-wish'
import { Trials } from './template-trials'

const Editor = lazy(() => import('../ui/editor').then((m) => ({ default: m.Editor })))
const o = t.editor

type Doc = Platform['TemplateData']

/** One template: its text, which a member may edit where it is the team's; what the engine says of it; trials; what it found. */
export function Template() {
  const { id } = useParams({ strict: false }) as { id: string }
  const [search] = useURL()
  const made = id === 'new'
  const copied = made ? search.copy : undefined
  const wanted = copied ?? id
  const own = search.from === 'team'
  const early = search.from === 'early'
  const found = useQuery({
    queryKey: ['template', team.id, wanted, search.from ?? ''], enabled: !made || !!copied,
    queryFn: async () => (own
      ? ((await body(platform.GET('/v1/template/{template_id}', { params: { path: { template_id: wanted } } }))) as { template: Doc }).template
      : early
        ? ((await body(platform.GET('/v1/template/early/{id}', { params: { path: { id: wanted } } }))) as { template: Doc }).template
        : (await body(platform.GET('/v1/template/public/{template_id}', { params: { path: { template_id: wanted } } }))).data),
  })
  useTitle(made ? o.new : (found.data?.name ?? t.templates.one))
  if (found.error) return <Problem error={found.error} retry={() => void found.refetch()} />
  if (made && !copied) return <Work key="new" id="new" text={o.start} />
  if (!found.data) return <Loading what={t.templates.one} />
  return made ? <Work key={`new ${wanted}`} id="new" draft={`new.${wanted}`} text={(found.data.raw ?? '').replace(/^id:\s*(\S+)/m, 'id: my-$1').replace(/^# digest:.*\n?/gm, '')} /> : <Work key={id} id={id} text={found.data.raw ?? ''} of={found.data} own={own} />
}

const draftKey = (id: string) => `vedette.template.${team.id}.${id}`
const loadSchema = async () => (await (await fetch('/v1/template/schema', { headers: headers() })).json()) as Schema

// A draft is kept by its own name, so that a copy of another template does not begin with what was left of the last one.
function Work({ id, draft = id, text: stored, of, own = false }: { id: string; draft?: string; text: string; of?: Doc; own?: boolean }) {
  const role = useRole()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const made = id === 'new'
  const editable = role.writes && (made || own)
  const [text, setText] = useState(() => (editable ? sessionStorage.getItem(draftKey(draft)) : null) ?? stored)
  const [goTo, setGoTo] = useState<{ line: number }>()
  const [asking, setAsking] = useState(false)
  const [sharing, setSharing] = useState(false)
  const [wishing, setWishing] = useState(false)
  const [fault, setFault] = useState('') // of what a model wrote
  const dirty = editable && text !== stored
  useEffect(() => { // what was not saved survives another page and an ended session
    if (!editable) return
    if (text === stored) sessionStorage.removeItem(draftKey(draft)); else sessionStorage.setItem(draftKey(draft), text)
  }, [editable, text, stored, draft])
  const judged = useVerdict(text, editable)
  const v = judged.data
  const marks = useMemo(() => (v?.faults ?? []).map((f) => ({ line: f.line, message: f.message })), [v])
  const schema = useCallback(() => queries.fetchQuery({ queryKey: ['template-schema'], queryFn: loadSchema, staleTime: Infinity }), [queries])
  const save = useAct(async () => (made
    ? body(platform.POST('/v1/template', { body: { template: text } }))
    : body(platform.PATCH('/v1/template', { body: { template_id: id, template: text } }))), ['template-search', 'template'], (x) => {
    sessionStorage.removeItem(draftKey(draft))
    toast(o.saved(x.template_name))
    if (made) void navigate({ to: `/templates/${x.template_id}`, search: { from: 'team' }, replace: true } as never)
    else queries.setQueryData(['template', team.id, id, 'team'], x.template)
  }, { shown: true })
  const remove = useAct(() => platform.DELETE('/v1/template/{template_id}', { params: { path: { template_id: id } } }), ['template-search'], () => {
    sessionStorage.removeItem(draftKey(draft))
    toast(o.deleted)
    void navigate({ to: '/templates' } as never)
  }, { shown: true })
  const written = of?.id ?? ''
  const trySave = () => { if (!save.isPending && (made || dirty)) save.mutate() }
  return (
    <>
      <Head title={made ? o.new : <Shown text={of!.name} max={200} />} crumb={<To to="/templates" className="link">{t.nav.templates}</To>} note={!made && <code><Shown text={written || id} max={120} /></code>}>
        {!made && <To to="/findings" search={{ template: written || id, status: 'any' }} className="btn">{t.templates.found}</To>}
        {!made && role.writes && <To to="/templates/new" search={{ copy: id, from: own ? 'team' : of!.is_early ? 'early' : undefined }} className="btn">{o.copy}</To>}
        {made && role.writes && <Button onClick={() => setWishing(true)}>{t.templates.ask}</Button>}
        {own && role.writes && <Button onClick={() => setSharing(true)}>{o.share}</Button>}
        {own && role.writes && <Button onClick={() => setAsking(true)}>{t.delete}</Button>}
        {!made && role.writes && <To to="/scans/new" search={{ template: id }} className="btn">{t.templates.scan}</To>}
        {editable && <Button kind="primary" disabled={save.isPending || (!made && !dirty)} onClick={trySave}>{made ? o.create : t.save}<span className="kbd max-sm:hidden">Ctrl S</span></Button>}
      </Head>
      {dirty && !made && <p className="mb-2 text-sm text-medium">{o.unsaved} <button type="button" className="link" onClick={() => setText(stored)}>{o.discard}</button></p>}
      {save.error && <Problem error={save.error} />}
      {fault && <p role="status" className="mb-3 rounded-sm bg-medium-soft px-3 py-2 text-sm text-medium">{t.templates.noGood} <Shown text={fault} max={1000} /></p>}
      <div className="grid items-start gap-4 xl:grid-cols-[minmax(0,1fr)_26rem]">
        <div className="grid min-w-0 gap-4">
          <Card title={t.templates.text} flush actions={<Copy text={text} />}>
            <Suspense fallback={<Loading what={t.templates.text} />}>
              <Editor label={t.templates.text} text={text} readOnly={!editable} marks={marks} schema={schema} onChange={setText} onSave={trySave} goTo={goTo} />
            </Suspense>
            {editable && <Said of={v} error={judged.error} busy={judged.isFetching} go={(line) => setGoTo({ line })} />}
          </Card>
          {role.writes && <Trials text={text} name={v?.id || written || 'template'} protocol={v?.type || of?.type || ''} valid={!editable || v?.valid === true} />}
        </div>
        <div className="grid min-w-0 gap-4">
          {of && <Card title={t.findings.facts}>
            <Facts of={[
              [t.findings.col.severity, <Severity key="s" of={of.severity} />], [t.findings.description, <Shown key="d" text={of.description} max={3000} />], [t.findings.remediation, <Shown key="r" text={of.remediation} max={3000} />],
              [t.templates.protocol, of.type], [t.templates.tags, <span key="t" className="flex flex-wrap gap-1">{(of.tags ?? []).slice(0, 30).map((tag) => <Chip key={tag}><Shown text={tag} max={40} /></Chip>)}</span>],
              [t.templates.author, <Shown key="a" text={(of.author ?? []).join(', ')} max={200} />],
              [t.templates.byModel, of.ai_meta?.model_used && <span key="m"><Shown text={of.ai_meta.model_used} max={100} />{of.ai_meta.is_template_by_human && ` ${t.templates.changed}`}</span>], [t.templates.from, of.ai_meta?.prompt && <Shown key="p" text={of.ai_meta.prompt} max={2000} />],
            ]} />
          </Card>}
          {!made && <Found template={written || id} />}
          {editable && <Card title={o.help}><ul className="grid list-disc gap-1 pl-4 text-sm text-muted">{o.helpText.map((x) => <li key={x}>{x}</li>)}</ul></Card>}
        </div>
      </div>
      {wishing && <Wish onClose={() => setWishing(false)} onDraft={(draft, why) => { setText(draft); setFault(why) }} />}
      {sharing && <Share id={id} onClose={() => setSharing(false)} />}
      {asking && <Confirm title={o.deleteTitle} action={t.delete} busy={remove.isPending} error={remove.error} onClose={() => setAsking(false)} onYes={() => remove.mutate()}>{o.deleteText}</Confirm>}
    </>
  )
}

/** What the engine says of a text, asked when nobody has typed for a moment. */
function useVerdict(text: string, enabled: boolean) {
  const [asked, setAsked] = useState(text)
  useEffect(() => { const timer = setTimeout(() => setAsked(text), 400); return () => clearTimeout(timer) }, [text])
  return useQuery({
    queryKey: ['template-verdict', asked], enabled: enabled && asked.trim() !== '', staleTime: Infinity, gcTime: 60_000, placeholderData: keepPreviousData,
    queryFn: ({ signal }) => body(platform.POST('/v1/template/validate', { body: { template: asked }, signal })),
  })
}

function Said({ of: v, error, busy, go }: { of?: Platform['TemplateVerdict']; error: unknown; busy: boolean; go: (line: number) => void }) {
  if (error) return <Problem error={error} />
  return (
    <div role="status" className="flex min-h-10 flex-wrap items-center gap-x-3 gap-y-1 border-t border-line px-3 py-2 text-sm">
      {!v ? <span className="text-muted">{busy ? o.checking : ''}</span> : v.valid ? <><Chip tone="good">{o.valid}</Chip><span className="text-muted">{o.validText(v.type, v.requests)}</span></> : v.faults.map((f) => (
        <span key={f.message} className="flex min-w-0 flex-wrap items-center gap-2"><Chip tone="bad">{f.code === 'template_unsupported' ? o.unsupported : o.invalid}</Chip>
          <span className="min-w-0"><Shown text={f.message.replace(/^template\.yaml(:\d+)*:?\s*/, '')} max={600} /></span>
          {f.line > 0 && <button type="button" className="link min-h-6" onClick={() => go(f.line)}>{o.goTo(f.line)}</button>}</span>
      ))}
    </div>
  )
}

/** The latest findings of a template, and where. */
function Found({ template }: { template: string }) {
  const found = useFindings({ templates: template, limit: 8, sort_desc: 'created_at', vuln_status: undefined })
  return (
    <Card title={t.templates.found} flush>
      {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={t.templates.found} /> : found.data.data.length === 0 ? <Empty title={o.foundNone} /> : (
        <ul className="divide-y divide-line text-sm">
          {found.data.data.map((r) => (
            <li key={r.vuln_id} className="flex items-start gap-2 px-3 py-1.5"><Severity of={eventOf(r)?.info.severity} short />
              <To to={`/findings/${r.vuln_id}`} className="min-w-0 flex-1 hover:text-accent"><Shown text={eventOf(r)?.['matched-at'] || r.target} max={120} /></To><Time at={r.created_at} className="text-xs text-muted" /></li>
          ))}
          {(found.data.total_results ?? 0) > 8 && <li className="px-3 py-1.5 text-muted">{t.more((found.data.total_results ?? 0) - 8)} · {count(found.data.total_results)}</li>}
        </ul>
      )}
    </Card>
  )
}
