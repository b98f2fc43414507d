import { useInfiniteQuery } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { agent, body, check, headers, team, type Agent } from '../../lib/api'
import { useAct } from '../../lib/act'
import { size } from '../../lib/format'
import { useRole } from '../../lib/me'
import { save } from '../../lib/save'
import { useTyped, useURL } from '../../lib/search'
import { Shown } from '../../lib/show'
import { Button, Card, Confirm, Empty, Loading, Problem, Table, Time } from '../../ui/kit'
import { failed, toast } from '../../ui/toast'
import { t } from '../../texts'

const f = t.files
type File_ = Agent['FileDoc']

/** The files of a person that their tasks may read. */
export function Files() {
  const role = useRole()
  const [search] = useURL()
  const [typed, setTyped] = useTyped('q')
  const [gone, setGone] = useState<File_>()
  const input = useRef<HTMLInputElement>(null)
  const found = useInfiniteQuery({
    queryKey: ['files-all', team.id, search.q], initialPageParam: '', getNextPageParam: (last: Agent['FileList']) => last.next_cursor || undefined,
    queryFn: ({ pageParam }) => body(agent.GET('/api/v1/files', { params: { query: { search: search.q, page_size: 50, cursor: pageParam || undefined, sort_by: 'last_modified', order: 'desc' } as never } })),
  })
  const at = (key: string) => `/api/v1/files?key=${encodeURIComponent(key)}`
  const store = useAct(async (x: File) => { await check(await fetch(at(x.name), { method: 'POST', headers: { ...headers(), 'Content-Type': 'application/octet-stream' }, body: x })); return x.name }, ['files-all', 'files'], (name) => toast(f.stored(name)))
  const remove = useAct(() => agent.DELETE('/api/v1/files', { params: { query: { key: gone!.key } } }), ['files-all', 'files'], () => setGone(undefined), { shown: true })
  const download = async (x: File_) => {
    try {
      const r = await check(await fetch(`/api/v1/files/download?key=${encodeURIComponent(x.key)}`, { headers: headers() }))
      save(await r.blob(), x.base_name, r)
    } catch (e) { failed(e) }
  }
  const rows = found.data?.pages.flatMap((p) => p.items) ?? []
  return (
    <div className="max-w-5xl">
      <div className="mb-3 flex flex-wrap gap-2">
        <input type="search" className="field max-w-80" aria-label={f.filter} placeholder={f.filter} value={typed} onChange={(e) => setTyped(e.target.value)} />
        {role.writes && <><input ref={input} type="file" className="sr-only" tabIndex={-1} aria-label={f.file} onChange={(e) => { const x = e.target.files?.[0]; e.target.value = ''; if (x) store.mutate(x) }} /><Button kind="primary" disabled={store.isPending} onClick={() => input.current?.click()}>{store.isPending ? f.storing : f.upload}</Button></>}
      </div>
      <Card flush>
        {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={t.settings.page.files!} /> : rows.length === 0 ? <Empty title={search.q ? f.noMatch : f.none}>{f.noneText}</Empty> : (
          <Table label={t.settings.page.files!} head={[t.scans.name, t.reports.size, f.changed, '']}>
            {rows.map((x) => (
              <tr key={x.key}><td><Shown text={x.key} max={200} className="font-medium" /></td><td className="whitespace-nowrap">{size(x.size)}</td><td className="text-muted"><Time at={x.last_modified} /></td>
                <td><span className="flex justify-end gap-2"><Button aria-label={f.downloadOf(x.key)} onClick={() => void download(x)}>{t.reports.download}</Button>{role.writes && <Button aria-label={f.deleteOf(x.key)} onClick={() => setGone(x)}>{t.delete}</Button>}</span></td></tr>
            ))}
          </Table>
        )}
        {found.hasNextPage && <p className="border-t border-line px-3 py-2"><Button disabled={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>{t.show.moreButton}</Button></p>}
      </Card>
      {gone && <Confirm title={f.deleteTitle} action={t.delete} busy={remove.isPending} error={remove.error} onClose={() => setGone(undefined)} onYes={() => remove.mutate()}>{f.deleteText(gone.key)}</Confirm>}
    </div>
  )
}
