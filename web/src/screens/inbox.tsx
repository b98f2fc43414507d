import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { body, platform, team } from '../lib/api'
import { useURL } from '../lib/search'
import { Shown } from '../lib/show'
import { Button, Card, Chip, Empty, Head, Loading, Pages, Problem, Tabs, Time, To, useTitle } from '../ui/kit'
import { failed } from '../ui/toast'
import { t } from '../texts'

const size = 50

/** What somebody was told in this team: findings given to them, comments that name them, what came back. */
export function Inbox() {
  useTitle(t.inbox.title)
  const [search, set] = useURL()
  const queries = useQueryClient()
  const page = Math.max(0, Number(search.page ?? 1) - 1 || 0)
  const query = { unread: search.show === 'all' ? undefined : true, limit: size, offset: page * size }
  const found = useQuery({
    queryKey: ['inbox', team.id, query], placeholderData: keepPreviousData, refetchInterval: 30_000,
    queryFn: () => body(platform.GET('/v1/user/notifications', { params: { query: query as never } })),
  })
  const read = useMutation({
    mutationFn: (ids?: string[]) => platform.POST('/v1/user/notifications/read', { body: ids ? { ids } : {} }),
    onSettled: () => void queries.invalidateQueries({ queryKey: ['inbox'] }), onError: failed,
  })
  const rows = found.data?.data ?? []
  return (
    <>
      <Head title={t.inbox.title} note={found.data && t.inbox.unread(found.data.unread)}>
        {(found.data?.unread ?? 0) > 0 && <Button disabled={read.isPending} onClick={() => read.mutate(undefined)}>{t.inbox.readAll}</Button>}
      </Head>
      <Tabs of={[['unread', t.inbox.tabs.unread], ['all', t.inbox.tabs.all]]} now={search.show ?? 'unread'} param="show" />
      <Card flush className="max-w-4xl">
        {found.error ? <Problem error={found.error} retry={() => void found.refetch()} /> : !found.data ? <Loading what={t.inbox.title} /> : rows.length === 0 ? <Empty title={search.show === 'all' ? t.inbox.none : t.inbox.noneUnread}>{t.inbox.noneText}</Empty> : (
          <ul className="divide-y divide-line">
            {rows.map((m) => (
              <li key={m.id} className="flex items-start gap-3 px-3 py-2.5 text-sm">
                <span className={`mt-2 size-2 shrink-0 rounded-full ${m.read_at ? '' : 'bg-accent'}`} aria-hidden="true" />
                <div className="min-w-0 flex-1">
                  <p className="flex flex-wrap items-center gap-x-2 text-xs text-muted"><Chip tone={m.kind === 'regression' || m.kind === 'risk_ended' ? 'wait' : 'calm'}>{t.inbox.kind[m.kind]}</Chip>{m.actor && <Shown text={m.actor} max={80} />}<Time at={m.created_at} />{!m.read_at && <span className="sr-only">{t.inbox.isUnread}</span>}</p>
                  <p className={`mt-0.5 whitespace-pre-line ${m.read_at ? 'text-muted' : ''}`}><Shown text={m.text} max={2000} /></p>
                  <p className="mt-1 flex gap-4">
                    {m.vuln_id && <To to={`/findings/${m.vuln_id}`} search={{ tab: m.kind === 'mentioned' ? 'history' : undefined }} className="link" onClick={() => { if (!m.read_at) read.mutate([m.id]) }}>{t.inbox.open}</To>}
                    {!m.read_at && <button type="button" className="link" onClick={() => read.mutate([m.id])}>{t.inbox.read}</button>}
                  </p>
                </div>
              </li>
            ))}
          </ul>
        )}
        {(found.data?.total_results ?? 0) > size && <Pages page={page} total={found.data!.total_results} size={size} go={(p) => set({ page: p > 0 ? String(p + 1) : undefined })} />}
      </Card>
    </>
  )
}
