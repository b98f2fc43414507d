import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { check } from '../lib/api'
import { commandOf, entriesOf, fieldsOf, parametersOf, schemaOf, takes, typeOf, type Contract, type Entry, type Field } from '../lib/openapi'
import { useTyped, useURL } from '../lib/search'
import { Card, Chip, Copy, Empty, Head, Loading, Problem, Table, Tabs, To, useTitle } from '../ui/kit'
import { count } from '../lib/format'
import { t } from '../texts'

const x = t.reference
const apis = { agent: '/api/openapi.json', platform: '/v1/openapi.json' } as const
const tone: Record<string, string> = { GET: 'good', POST: 'busy', PUT: 'wait', PATCH: 'wait', DELETE: 'bad' }

/** Every operation of both APIs, one at a time, with a request to this server. The same is at /docs on one page, for those who have not signed in. */
export function Reference() {
  useTitle(x.title)
  const [search] = useURL()
  const [typed, setTyped] = useTyped('q')
  const api = search.api === 'platform' ? 'platform' : 'agent'
  const found = useQuery({ queryKey: ['contract', api], staleTime: Infinity, queryFn: async () => (await check(await fetch(apis[api]))).json() as Promise<Contract> })
  const c = found.data
  const all = useMemo(() => (c ? entriesOf(c) : []), [c])
  const words = (search.q ?? '').toLowerCase().split(/\s+/).filter(Boolean)
  const shown = all.filter((e) => words.every((w) => `${e.method} ${e.path} ${e.of.summary ?? ''} ${e.tag}`.toLowerCase().includes(w)))
  const now = all.find((e) => e.id === search.op) ?? shown[0]
  const tags = [...new Set(shown.map((e) => e.tag))]
  return (
    <>
      <Head title={x.title} note={c && x.note(count(all.length), c.info.version)}><a href={`/docs?api=${api}`} className="btn">{x.page}</a></Head>
      <Tabs param="api" of={[['agent', x.agent], ['platform', x.platform]]} now={api} />
      {found.error ? <Problem error={found.error} retry={() => void found.refetch()} /> : !c ? <Loading what={x.title} /> : (
        <div className="grid items-start gap-4 *:min-w-0 lg:grid-cols-[20rem_minmax(0,1fr)]">
          <div className="lg:sticky lg:top-4">
            <input type="search" className="field mb-2" aria-label={x.filter} placeholder={x.filter} value={typed} onChange={(e) => setTyped(e.target.value)} />
            {shown.length === 0 ? <Card><Empty title={x.none} /></Card> : (
              <nav aria-label={x.operations} tabIndex={0} className="card overflow-auto p-2 max-lg:max-h-64 lg:max-h-[calc(100vh-12rem)]">
                {tags.map((tag) => (
                  <details key={tag} open={words.length > 0 || tag === now?.tag}>
                    <summary className="py-1 text-sm font-medium">{tag || x.other}</summary>
                    <ul className="mb-2">
                      {shown.filter((e) => e.tag === tag).map((e) => (
                        <li key={e.id}><To to="/reference" search={{ ...search, op: e.id }} data-now={e.id === now?.id || undefined} className="flex min-h-7 items-start gap-2 rounded-sm px-1.5 py-1 text-xs text-muted hover:bg-hover hover:text-text data-now:bg-accent-soft data-now:text-accent"><span className="w-11 shrink-0 font-mono font-semibold">{e.method}</span><span>{e.of.summary || e.path}</span></To></li>
                      ))}
                    </ul>
                  </details>
                ))}
              </nav>
            )}
          </div>
          {now && <One c={c} of={now} key={now.id} />}
        </div>
      )}
    </>
  )
}

function One({ c, of: e }: { c: Contract; of: Entry }) {
  const o = e.of
  const command = commandOf(c, e, location.origin)
  const bodySchema = schemaOf(o.requestBody?.content)
  const good = Object.entries(o.responses).filter(([status]) => status < '400')
  const bad = Object.entries(o.responses).filter(([status]) => status >= '400')
  return (
    <div className="grid gap-4 *:min-w-0">
      <section aria-labelledby="operation">
        <h2 id="operation" className="text-lg font-semibold">{o.summary || e.path}</h2>
        <p className="mt-1 flex flex-wrap items-center gap-2"><Chip tone={tone[e.method]}>{e.method}</Chip><code className="[overflow-wrap:anywhere]">{e.path}</code> {o.deprecated && <Chip tone="wait">{x.deprecated}</Chip>}</p>
        {o.description && <p className="mt-2 max-w-prose text-sm whitespace-pre-line">{o.description}</p>}
        <p className="mt-2 text-sm text-muted">{(o.security ?? []).length === 0 ? x.open : takes(o, 'apiKey') ? x.needs : takes(o, 'bearer') ? x.session : x.internal}</p>
      </section>
      <Card title={x.example} actions={<Copy text={command} />}><pre className="raw" tabIndex={0} aria-label={x.example}>{command}</pre></Card>
      <Fields title={x.parameters} of={parametersOf(c, o)} />
      {o.requestBody && <Fields title={x.body} of={fieldsOf(c, bodySchema)} otherwise={bodySchema ? typeOf(c, bodySchema) : Object.keys(o.requestBody.content).join(', ')} />}
      {good.map(([status, r]) => <Fields key={status} title={x.answer(status)} of={fieldsOf(c, schemaOf(r.content))} otherwise={Object.keys(r.content ?? {}).join(', ') || r.description || x.empty} />)}
      {bad.length > 0 && <Card title={x.refusals}><ul className="flex flex-wrap gap-x-4 gap-y-1 text-sm">{bad.map(([status, r]) => <li key={status}><span className="font-mono font-semibold">{status}</span> {r.description}</li>)}</ul></Card>}
    </div>
  )
}

const indents = ['', 'pl-4', 'pl-8', 'pl-12', 'pl-16']

function Fields({ title, of, otherwise }: { title: string; of: Field[]; otherwise?: string }) {
  if (of.length === 0 && !otherwise) return null
  return (
    <Card title={title} flush>
      {of.length === 0 ? <p className="px-3 py-2.5 text-sm text-muted">{otherwise}</p> : (
        <Table label={title} head={[x.field, x.type, x.meaning]}>
          {of.map((f, i) => (
            <tr key={i}><td><span className={`block sm:min-w-48 ${indents[f.depth]}`}><code className="font-semibold [overflow-wrap:anywhere]">{f.name}</code> {f.required && <Chip tone="wait">{x.required}</Chip>}</span></td><td className="text-muted">{f.type}</td>
              <td>{f.about}{f.limits && <span className="block text-xs text-muted [overflow-wrap:anywhere]">{f.limits}</span>}</td></tr>
          ))}
        </Table>
      )}
    </Card>
  )
}
