import { keepPreviousData, useMutation, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { body, platform, team } from '../lib/api'
import { count } from '../lib/format'
import { useURL } from '../lib/search'
import { Shown } from '../lib/show'
import { Button, Card, Field, Head, Problem, Severity, To, useTitle } from '../ui/kit'
import { t } from '../texts'
import { isOfOne, noWeb, webOptions, WebScan } from './scan-web'

type Which = 'recommended' | 'all' | 'chosen' | 'web'

export function NewScan() {
  useTitle(t.scans.new)
  const [search] = useURL()
  const navigate = useNavigate()
  const [targets, setTargets] = useState(search.target ?? '')
  const [name, setName] = useState('')
  const [which, setWhich] = useState<Which>(search.template ? 'chosen' : 'recommended')
  const [chosen, setChosen] = useState<string[]>(search.template?.split(',').slice(0, 50) ?? [])
  const [web, setWeb] = useState(noWeb)
  const [excluded, setExcluded] = useState('')
  const [capture, setCapture] = useState(false)
  const [q, setQ] = useState('')
  const lines = (s: string) => s.split(/[\s,]+/).filter(Boolean)
  const found = useQuery({
    queryKey: ['template-search', team.id, q], enabled: which === 'chosen', placeholderData: keepPreviousData,
    queryFn: ({ signal }) => body(platform.GET('/v2/template/search', { params: { query: { q: q || undefined, limit: 30, fields: 'id,name,severity,template_id' } as never }, signal })),
  })
  const start = useMutation({
    mutationFn: async () => body(platform.POST('/v1/scans', {
      body: {
        name: name.trim() || undefined, targets: lines(targets), exclude_targets: lines(excluded).length > 0 ? lines(excluded) : undefined,
        recommended: which === 'recommended' || undefined, all: which === 'all' || undefined, templates: which === 'chosen' ? chosen : undefined, capture_traffic: capture || undefined,
        ...(which === 'web' ? { scan_type: 'web', web_options: await webOptions(web) } : {}),
      } as never,
    })),
    onSuccess: (made) => void navigate({ to: `/scans/${made.id}` } as never),
  })
  const n = lines(targets).length
  return (
    <>
      <Head title={t.scans.new} crumb={<To to="/scans" className="link">{t.scans.title}</To>} note={t.scans.newNote} />
      <form className="grid gap-4 lg:grid-cols-[minmax(0,1fr)_20rem]" onSubmit={(e) => { e.preventDefault(); start.mutate() }}>
        <div className="grid content-start gap-4">
          <Card title={t.scans.targets}>
            <Field label={t.scans.targetsLabel} hint={t.scans.targetsHint}>
              {(p) => <textarea {...p} className="field font-mono" rows={6} required autoFocus spellCheck={false} placeholder={'https://shop.example\n192.0.2.0/28'} value={targets} onChange={(e) => setTargets(e.target.value)} />}
            </Field>
            <Field label={t.scans.excluded} hint={t.scans.excludedHint}>
              {(p) => <textarea {...p} className="field font-mono" rows={2} spellCheck={false} value={excluded} onChange={(e) => setExcluded(e.target.value)} />}
            </Field>
          </Card>
          <Card title={t.scans.checks}>
            <fieldset className="grid gap-2">
              <legend className="sr-only">{t.scans.checks}</legend>
              {(['recommended', 'all', 'chosen', 'web'] as const).map((w) => (
                <label key={w} className="flex items-start gap-2 text-sm"><input type="radio" name="which" className="mt-1" checked={which === w} onChange={() => setWhich(w)} /><span><span className="font-medium">{t.scans.which[w]}</span><span className="block text-xs text-muted">{t.scans.whichText[w]}</span></span></label>
              ))}
            </fieldset>
            {which === 'chosen' && (
              <div className="mt-4">
                {chosen.length > 0 && (
                  <ul className="mb-3 flex flex-wrap gap-1" aria-label={t.scans.chosen}>
                    {chosen.map((c) => <li key={c}><button type="button" className="rounded-sm bg-accent-soft px-2 text-xs leading-6 text-accent" onClick={() => setChosen(chosen.filter((x) => x !== c))}><Shown text={c} max={60} /> <span aria-hidden="true">✕</span><span className="sr-only">{t.scans.drop}</span></button></li>)}
                  </ul>
                )}
                <input type="search" className="field" aria-label={t.scans.templateSearch} placeholder={t.scans.templateSearch} value={q} onChange={(e) => setQ(e.target.value)} onKeyDown={(e) => { if (e.key === 'Enter') e.preventDefault() }} />
                {found.error ? <Problem error={found.error} /> : (
                  <ul className="mt-2 max-h-72 overflow-auto" tabIndex={0} aria-label={t.scans.checks}>
                    {(found.data?.results ?? []).map((r) => {
                      const id = r.template_id ?? r.id ?? ''
                      const on = chosen.includes(id)
                      return (
                        <li key={id}><label className="flex min-h-8 items-center gap-2 rounded-sm px-1 text-sm hover:bg-panel">
                          <input type="checkbox" checked={on} onChange={() => setChosen(on ? chosen.filter((x) => x !== id) : [...chosen, id])} />
                          <Severity of={r.severity} short /><span className="min-w-0 flex-1 truncate"><Shown text={r.name} max={100} /></span><code className="truncate text-xs text-muted max-sm:hidden"><Shown text={id} max={60} /></code>
                        </label></li>
                      )
                    })}
                  </ul>
                )}
                {found.data && <p className="mt-1 text-xs text-muted">{t.scans.templatesFound(count(found.data.count), count(found.data.total))}</p>}
              </div>
            )}
          </Card>
          {which === 'web' && <WebScan web={web} onChange={setWeb} />}
        </div>
        <Card title={t.scans.review} className="sticky top-4 self-start">
          <Field label={t.scans.name} hint={t.scans.nameHint}>{(p) => <input {...p} className="field" maxLength={200} value={name} onChange={(e) => setName(e.target.value)} />}</Field>
          <label className="mb-4 flex items-start gap-2 text-sm"><input type="checkbox" className="mt-1" checked={capture} onChange={(e) => setCapture(e.target.checked)} /><span>{t.network.capture}<span className="block text-xs text-muted">{t.network.captureHint}</span></span></label>
          <p className="mb-3 text-sm">{which === 'web' ? t.scans.web.will : t.scans.will(n, which === 'chosen' ? t.scans.nChecks(chosen.length) : t.scans.which[which].toLowerCase())}</p>
          {which === 'web' && n > 1 && isOfOne(web) && <p className="mb-3 text-sm text-high">{t.scans.web.one}</p>}
          {start.error && <Problem error={start.error} />}
          <Button kind="primary" type="submit" className="w-full" disabled={start.isPending || n === 0 || (which === 'chosen' && chosen.length === 0) || (which === 'web' && n > 1 && isOfOne(web))}>{t.scans.start}</Button>
          <p className="mt-2 text-xs text-muted">{t.scans.permission}</p>
        </Card>
      </form>
    </>
  )
}
