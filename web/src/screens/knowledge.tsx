import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useRef, useState } from 'react'
import { useAct } from '../lib/act'
import { agent, body, team, type Agent } from '../lib/api'
import { count, size } from '../lib/format'
import { useCommands } from '../lib/keys'
import { useRole } from '../lib/me'
import { useTyped, useURL, type Search } from '../lib/search'
import { plain, Raw, Shown } from '../lib/show'
import { Button, Card, Chip, Confirm, Empty, Head, Loading, Pages, Problem, Table, Time, useTitle } from '../ui/kit'
import { toast } from '../ui/toast'
import { t } from '../texts'
import { AddKnowledge, newKinds } from './knowledge-add'

const x = t.knowledge
const pageSize = 100
const tone: Record<string, string> = { waiting: 'busy', ready: 'good', failed: 'bad' }

type Source = Agent['Source']

/** What people and tasks can look up, and what it was read from. */
export function Knowledge() {
  useTitle(x.title)
  const [search, set] = useURL()
  const [typed, setTyped] = useTyped('q')
  const role = useRole()
  const field = useRef<HTMLInputElement>(null)
  const found = useQuery({
    queryKey: ['knowledge', team.id], queryFn: () => body(agent.GET('/api/v1/knowledge/sources')),
    refetchInterval: (q) => (q.state.data?.sources.some((s) => s.status === 'waiting') ? 1500 : false),
  })
  useCommands([{ id: 'k search', label: x.keys.search, group: x.title, keys: '/', run: () => field.current?.focus() }])
  const sources = found.data?.sources ?? []
  const add = role.writes && <Button kind="primary" onClick={() => set({ new: 'text' })}>{x.add}</Button>
  return (
    <>
      <Head title={x.title} note={found.data && x.note(sources.length, size(sources.reduce((sum, s) => sum + s.bytes, 0)))}>{add}</Head>
      {(sources.length > 0 || search.q) && (
        <div className="mb-4">
          <div className="flex flex-wrap items-center gap-2">
            <input ref={field} type="search" className="field max-w-xl" aria-label={x.search} placeholder={x.search} maxLength={1000} value={typed} onChange={(e) => setTyped(e.target.value)}
              onKeyDown={(e) => { if (e.key === 'Escape') e.currentTarget.blur() }} />
            <select className="field !w-auto max-w-60" aria-label={x.in} value={search.source ?? ''} onChange={(e) => set({ source: e.target.value || undefined })}>
              <option value="">{x.inAll}</option>
              {search.source && !sources.some((s) => s.id === search.source) && <option value={search.source}>{plain(search.source.slice(0, 60))}</option>}
              {sources.map((s) => <option key={s.id} value={s.id}>{plain(s.name.slice(0, 80))}</option>)}
            </select>
          </div>
          <p className="mt-1 text-xs text-muted">{x.searchHint}</p>
        </div>
      )}
      {search.q && <Passages search={search} set={set} />}
      {found.error ? <Card flush><Problem error={found.error} retry={() => void found.refetch()} /></Card> : !found.data ? <Card flush><Loading what={x.sources} /></Card> : sources.length === 0 ? <Card flush><Empty title={x.none} action={add}>{x.noneText}</Empty></Card>
        : <Sources of={sources} search={search} set={set} />}
      {newKinds.some((k) => k === search.new) && role.writes && <AddKnowledge onClose={() => set({ new: undefined }, { replace: true })} />}
    </>
  )
}

/** The words of a question as a text has them, to mark them there. */
function marksOf(query: string, text: string): string[] {
  const words = (s: string) => s.match(/[\p{L}\p{N}]{3,}/gu) ?? []
  const asked = new Set(words(query.toLowerCase()))
  return [...new Set(words(text).filter((w) => asked.has(w.toLowerCase())))]
}

function Passages({ search, set }: { search: Search; set: (c: Partial<Search>) => void }) {
  const query = { query: search.q!.slice(0, 1000), source_id: search.source, limit: search.more === '1' ? 50 : 10 }
  const found = useQuery({
    queryKey: ['knowledge-search', team.id, query], placeholderData: keepPreviousData,
    queryFn: ({ signal }) => body(agent.POST('/api/v1/knowledge/search', { body: query, signal })),
  })
  const rows = found.data?.results ?? []
  const note = found.data?.vectors.message && <Shown text={found.data.vectors.message} max={400} />
  return (
    <Card title={<>{x.passages}<span className="ml-2 font-normal text-muted" role="status">{found.data && x.found(found.data.total)}</span></>} flush className="mb-4">
      {found.error ? <Problem error={found.error} retry={() => void found.refetch()} /> : !found.data ? <Loading what={x.searching} /> : rows.length === 0 ? <Empty title={x.noPassages}>{x.noPassagesText} {note}</Empty> : (<>
        {note && found.data.vectors.status !== 'no_model' && <p className="border-b border-line px-3 py-2 text-xs text-muted">{note}</p>}
        <ol className="divide-y divide-line">
          {rows.map((r) => (
            <li key={`${r.source_id} ${r.place} ${r.line}`} className="px-3 py-2.5 text-sm">
              <p className="mb-1.5 flex flex-wrap items-baseline gap-x-3 gap-y-1"><Shown text={r.source} max={120} className="font-medium" />
                <span className="min-w-0 text-xs text-muted">{r.place && r.place !== r.source && <><Shown text={r.place} max={200} />, </>}{x.line(r.line)}{r.revision && <>, <Shown text={x.revision(r.revision)} max={40} /></>}</span>
                {search.source !== r.source_id && <button type="button" className="link min-h-6 text-xs" onClick={() => set({ source: r.source_id })}>{x.only}</button>}</p>
              <Raw text={r.text} marks={marksOf(query.query, r.text)} label={`${r.source.slice(0, 80)}, ${x.line(r.line)}`} />
            </li>
          ))}
        </ol>
      </>)}
      {rows.length === 10 && search.more !== '1' && <div className="border-t border-line p-2 text-center"><Button onClick={() => set({ more: '1' })}>{x.more}</Button></div>}
    </Card>
  )
}

function Sources({ of, search, set }: { of: Source[]; search: Search; set: (c: Partial<Search>) => void }) {
  const role = useRole()
  const navigate = useNavigate()
  const [gone, setGone] = useState<Source>()
  const page = Math.max(0, Number(search.page ?? 1) - 1 || 0)
  const at = (source_id: string) => ({ params: { path: { source_id } } })
  const again = useAct((id: string) => body(agent.POST('/api/v1/knowledge/sources/{source_id}/reindex', at(id))), ['knowledge', 'knowledge-search'], () => toast(x.asked))
  const remove = useAct(() => agent.DELETE('/api/v1/knowledge/sources/{source_id}', at(gone!.id)), ['knowledge', 'knowledge-search'], () => {
    if (search.source === gone!.id) set({ source: undefined })
    setGone(undefined)
    toast(x.deleted)
  }, { shown: true })
  const rows = of.filter((s) => (!search.kind || s.kind === search.kind) && (!search.status || s.status === search.status))
  const choose = (key: 'kind' | 'status', name: string, any: string, words: Record<string, string>) => (
    <select className="field !w-auto" aria-label={name} value={search[key] ?? ''} onChange={(e) => set({ [key]: e.target.value || undefined, page: undefined })}>
      <option value="">{any}</option>{Object.entries(words).map(([k, w]) => <option key={k} value={k}>{w}</option>)}
    </select>
  )
  return (
    <>
      <Card title={x.sources} flush actions={<span className="flex flex-wrap gap-2">{choose('kind', x.kind, x.anyKind, x.kinds)}{choose('status', x.state, x.anyState, x.states)}</span>}>
        {rows.length === 0 ? <Empty title={x.noMatch} action={<Button onClick={() => void navigate({ to: '/knowledge', search: { q: search.q, source: search.source } } as never)}>{x.all}</Button>} /> : (
          <Table label={x.sources} head={[x.name, x.kind, x.state, x.size, x.whose, x.read, '']}>
            {rows.slice(page * pageSize, (page + 1) * pageSize).map((s) => {
              const from = s.url || s.file_key
              return (
                <tr key={s.id}>
                  <td className="min-w-52"><Shown text={s.name} max={160} className="font-medium" />
                    {from && from !== s.name && <span className="block text-xs text-muted"><Shown text={from} max={200} /></span>}
                    {s.kind === 'git' && (s.ref || s.revision) && <span className="block text-xs text-muted"><Shown text={[s.ref, s.revision && x.revision(s.revision)].filter(Boolean).join(', ')} max={120} /></span>}
                    {s.error && <span className="block text-xs text-high"><Shown text={s.error} max={400} /></span>}</td>
                  <td>{x.kinds[s.kind] ?? s.kind}</td><td><Chip tone={tone[s.status]}>{x.states[s.status] ?? s.status}</Chip></td>
                  <td className="whitespace-nowrap">{s.indexed_at ? <>{size(s.bytes)} <span className="block text-xs text-muted">{x.parts(count(s.chunks))}</span></> : ''}</td>
                  <td className="whitespace-nowrap">{s.shared ? x.shared : x.own}</td><td className="text-muted">{s.indexed_at ? <Time at={s.indexed_at} /> : x.never}</td>
                  <td>{role.writes && (!s.shared || role.admin) && <span className="flex justify-end gap-2">
                    <Button aria-label={x.againOf(s.name)} disabled={again.isPending || s.status === 'waiting'} onClick={() => again.mutate(s.id)}>{x.again}</Button>
                    <Button aria-label={x.deleteOf(s.name)} onClick={() => setGone(s)}>{t.delete}</Button></span>}</td>
                </tr>
              )
            })}
          </Table>
        )}
        {rows.length > pageSize && <Pages page={page} total={rows.length} size={pageSize} go={(p) => set({ page: p > 0 ? String(p + 1) : undefined })} />}
      </Card>
      {gone && <Confirm title={x.deleteTitle} action={t.delete} busy={remove.isPending} error={remove.error} onClose={() => setGone(undefined)} onYes={() => remove.mutate()}>{x.deleteText(gone.name)}</Confirm>}
    </>
  )
}
