import { useInfiniteQuery } from '@tanstack/react-query'
import { agent, body, team } from '../lib/api'
import { count, span } from '../lib/format'
import { useRole } from '../lib/me'
import { useURL } from '../lib/search'
import { Shown } from '../lib/show'
import { taskLive, taskTone } from '../lib/states'
import { Button, Card, Chip, Empty, Head, Loading, Problem, Table, Time, To, useTitle } from '../ui/kit'
import { t } from '../texts'

export function Tasks() {
  useTitle(t.tasks.title)
  const role = useRole()
  const [search, set] = useURL()
  const found = useInfiniteQuery({
    queryKey: ['tasks', team.id, search.status ?? ''],
    initialPageParam: '',
    queryFn: ({ pageParam, signal }) => body(agent.GET('/api/v1/tasks', { params: { query: { limit: 50, cursor: pageParam || undefined, status: (search.status as never) || undefined } }, signal })),
    getNextPageParam: (last) => last.next_cursor || undefined,
    refetchInterval: (q) => (q.state.data?.pages.some((p) => p.tasks.some((x) => taskLive(x.status))) ? 3000 : 20_000),
  })
  const rows = found.data?.pages.flatMap((p) => p.tasks) ?? []
  return (
    <>
      <Head title={t.tasks.title} note={found.data && t.tasks.total(count(found.data.pages[0]?.total))}>
        {role.writes && <To to="/tasks/new" className="btn btn-primary">{t.tasks.new}</To>}
      </Head>
      <div className="mb-3">
        <select className="field !w-auto" aria-label={t.tasks.state} value={search.status ?? ''} onChange={(e) => set({ status: e.target.value || undefined })}>
          <option value="">{t.tasks.anyState}</option>
          {Object.keys(taskTone).map((s) => <option key={s} value={s}>{t.taskState[s]}</option>)}
        </select>
      </div>
      <Card flush>
        {found.error ? <Problem error={found.error} retry={() => void found.refetch()} /> : !found.data ? <Loading what={t.tasks.title} /> : rows.length === 0 ? (
          search.status ? <Empty title={t.tasks.noMatch} /> : <Empty title={t.tasks.empty} action={role.writes && <To to="/tasks/new" className="btn btn-primary">{t.tasks.new}</To>}>{t.tasks.emptyText}</Empty>
        ) : (
          <Table label={t.tasks.title} head={[t.tasks.instruction, t.tasks.state, t.tasks.issues, t.tasks.by, t.tasks.took, t.tasks.created]}>
            {rows.map((x) => (
              <tr key={x.id}>
                <td className="min-w-64"><To to={`/tasks/${x.id}`} className="line-clamp-2 font-medium hover:text-accent"><Shown text={x.title} max={200} /></To></td>
                <td><Chip tone={taskTone[x.status]}>{t.taskState[x.status]}</Chip></td>
                <td>{count(x.issue_count)}</td>
                <td className="text-muted"><Shown text={x.created_by} max={40} /></td>
                <td className="whitespace-nowrap text-muted">{x.started_at && x.completed_at ? span(new Date(x.completed_at).getTime() - new Date(x.started_at).getTime()) : '–'}</td>
                <td className="text-muted"><Time at={x.created_at} /></td>
              </tr>
            ))}
          </Table>
        )}
        {found.hasNextPage && <div className="border-t border-line p-2 text-center"><Button disabled={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>{t.tasks.more}</Button></div>}
      </Card>
    </>
  )
}
