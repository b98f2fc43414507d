import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { agent, body, team, type Agent } from '../../lib/api'
import { useTyped, useURL } from '../../lib/search'
import { Shown } from '../../lib/show'
import { Button, Card, Chip, Dialog, Empty, Facts, Loading, Problem, Severity, Table, Time } from '../../ui/kit'
import { t } from '../../texts'
import { Options } from './github-options'

// What the pages of GitHub and GitLab share: repositories and reviews, by the names that GitHub's operations have.

const g = t.github
const l = t.gitlab
type Forge = 'github' | 'gitlab'
type Review = Agent['GitHubListedReview']
type Repository = Pick<Agent['GitHubRepository'], 'id' | 'repo_full_name' | 'is_private' | 'effective_config'>
type Window = { limit: number; offset: number }
export const tone: Record<string, string> = { active: 'good', suspended: 'wait', revoked_external: 'bad', completed: 'good', failed: 'bad', running: 'busy', success: 'good', failure: 'bad', neutral: 'wait' }

const forges = {
  github: {
    repositories: async (): Promise<Repository[]> => (await body(agent.GET('/api/v1/github/repos'))).repositories,
    reviews: async (query: Window): Promise<{ reviews: Review[]; has_more: boolean }> => body(agent.GET('/api/v1/github/reviews', { params: { query } })),
    save: (of: Repository, change: object) => body(agent.PATCH('/api/v1/github/repos/{id}', { params: { path: { id: of.id } }, body: { repo_full_name: of.repo_full_name, ...change } as never })),
  },
  gitlab: {
    repositories: async (): Promise<Repository[]> => (await body(agent.GET('/api/v1/gitlab/projects'))).projects.map((x) => ({ ...x, repo_full_name: x.project })),
    reviews: async (query: Window): Promise<{ reviews: Review[]; has_more: boolean }> => {
      const found = await body(agent.GET('/api/v1/gitlab/reviews', { params: { query } }))
      return { ...found, reviews: found.reviews.map((x) => ({ ...x, repo_full_name: x.project, pr_number: x.merge_request })) }
    },
    save: (of: Repository, change: object) => body(agent.PATCH('/api/v1/gitlab/projects/{gitlab_project_id}', { params: { path: { gitlab_project_id: of.id } }, body: change as never })),
  },
}

/** The repositories that are reviewed, and how. */
export function Repositories({ of }: { of: Forge }) {
  const [typed, setTyped] = useTyped('q')
  const [search] = useURL()
  const [openID, setOpen] = useState<Repository['id']>()
  const [all, setAll] = useState(false)
  const defaults = useQuery({ queryKey: ['review-defaults', team.id], enabled: all, queryFn: () => body(agent.GET('/api/v1/reviews/defaults')) })
  const found = useQuery({ queryKey: [`${of}-repos`, team.id], queryFn: forges[of].repositories })
  const rows = (found.data ?? []).filter((x) => x.repo_full_name.toLowerCase().includes((search.q ?? '').toLowerCase()))
  const open = found.data?.find((x) => x.id === openID) // as it is after the list was read again, too
  const set = (x: Repository) => Object.values(x.effective_config).filter((v) => v.source === 'repo').length
  return (
    <Card title={g.repositories} flush actions={<><Button onClick={() => setAll(true)}>{g.defaults}</Button>{(found.data?.length ?? 0) > 10 && <input type="search" className="field !w-56" aria-label={g.filter} placeholder={g.filter} value={typed} onChange={(e) => setTyped(e.target.value)} />}</>}>
      {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={g.repositories} /> : rows.length === 0 ? <Empty title={g.noRepos} /> : (
        <Table label={g.repositories} head={[t.scans.name, g.auto, g.gate, g.options, '']}>
          {rows.slice(0, 200).map((x) => (
            <tr key={x.id}>
              <td><Shown text={x.repo_full_name} max={120} className="font-medium" /> {x.is_private && <Chip>{g.private}</Chip>}</td>
              <td>{x.effective_config.auto_review?.value ? g.byItself : g.onCommand}</td><td>{t.severity[String(x.effective_config.check_gate?.value)] ?? g.off}</td>
              <td className="whitespace-nowrap text-muted">{g.nSet(set(x))}</td><td><span className="flex justify-end"><Button aria-label={g.optionsOf(x.repo_full_name)} onClick={() => setOpen(x.id)}>{g.look}</Button></span></td>
            </tr>
          ))}
        </Table>
      )}
      {rows.length > 200 && <p className="border-t border-line px-3 py-2 text-sm text-muted">{t.more(rows.length - 200)}</p>}
      {all && defaults.error && <Problem error={defaults.error} />}
      {all && defaults.data && <Options name={g.defaults} own="team" config={defaults.data.effective_config} keys={['review-defaults', 'github-repos', 'gitlab-repos']} save={(change) => body(agent.PATCH('/api/v1/reviews/defaults', { body: change as never }))} onClose={() => setAll(false)} />}
      {open && <Options name={open.repo_full_name} config={open.effective_config} key={open.id} keys={[`${of}-repos`]} save={(change) => forges[of].save(open, change)} onClose={() => setOpen(undefined)} />}
    </Card>
  )
}

const size = 25

/** The latest reviews, a page of them. */
export function Reviews({ of }: { of: Forge }) {
  const [search, set] = useURL()
  const [open, setOpen] = useState<Review>()
  const page = Math.max(0, Number(search.page ?? 1) - 1 || 0)
  const found = useQuery({ queryKey: [`${of}-reviews`, team.id, page], refetchInterval: 15_000, queryFn: () => forges[of].reviews({ limit: size, offset: page * size }) })
  const rows = found.data?.reviews ?? []
  return (
    <Card title={g.reviews} flush>
      {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={g.reviews} /> : rows.length === 0 ? <Empty title={g.noReviews}>{of === 'github' ? g.noReviewsText : l.noReviewsText}</Empty> : (
        <Table label={g.reviews} head={[of === 'github' ? g.pull : l.merge, t.scans.when, t.scans.state, g.check, t.nav.findings, '']}>
          {rows.map((x) => (
            <tr key={x.id}>
              <td><Shown text={x.repo_full_name} max={120} className="font-medium" /> #{x.pr_number} <code className="text-xs text-muted"><Shown text={x.head_sha.slice(0, 8)} max={8} /></code></td>
              <td className="text-muted"><Time at={x.created_at} /></td>
              <td><Chip tone={tone[x.status]}>{g.reviewState[x.status]}</Chip></td><td>{x.conclusion ? <Chip tone={tone[x.conclusion]}>{g.conclusion[x.conclusion]}</Chip> : '–'}</td><td>{x.findings.length}</td>
              <td><span className="flex justify-end"><Button aria-label={g.reviewOf(x.repo_full_name, x.pr_number)} onClick={() => setOpen(x)}>{g.show}</Button></span></td>
            </tr>
          ))}
        </Table>
      )}
      {(page > 0 || found.data?.has_more) && <nav aria-label={t.pages.title} className="no-print flex justify-end gap-2 border-t border-line px-3 py-1.5"><Button disabled={page === 0} onClick={() => set({ page: page > 1 ? String(page) : undefined })}>{t.pages.previous}</Button><Button disabled={!found.data?.has_more} onClick={() => set({ page: String(page + 2) })}>{t.pages.next}</Button></nav>}
      {open && <One of={open} onClose={() => setOpen(undefined)} />}
    </Card>
  )
}

/** What a review read and found. No secret is in it: the server keeps their first characters alone. */
function One({ of, onClose }: { of: Review; onClose: () => void }) {
  return (
    <Dialog wide title={<><Shown text={of.repo_full_name} max={120} /> #{of.pr_number}</>} onClose={onClose}>
      <Facts of={[[g.commit, <code key="h" className="text-xs"><Shown text={of.head_sha} max={64} /></code>], [g.cause, g.causes[of.cause] ?? <Shown key="c" text={of.cause} max={60} />], [t.scans.state, g.reviewState[of.status]], [g.files, String(of.files_reviewed)], [g.comments, String(of.inline_comments)], [g.ended, of.finished_at && <Time key="t" at={of.finished_at} />], [t.network.error, of.error && <Shown key="e" text={of.error} max={500} className="text-high" />]]} />
      {of.findings.length === 0 ? <p className="mt-4 text-sm text-muted">{g.nothing}</p> : (
        <ul className="mt-4 divide-y divide-line border-t border-line">
          {of.findings.map((x, i) => (
            <li key={i} className="py-2.5 text-sm">
              <p className="flex flex-wrap items-center gap-2"><Severity of={x.severity} /><Shown text={x.title} max={200} className="font-medium" />{x.found_by === 'model' && <Chip tone="wait">{g.opinion}</Chip>}</p>
              <p className="text-xs text-muted"><code><Shown text={`${x.path}:${x.line}`} max={300} /></code> · <Shown text={x.rule} max={80} /></p>
              <p className="mt-1"><Shown text={x.why} max={600} /></p>
              {x.shown && <p className="mt-1"><code className="text-xs"><Shown text={x.shown} max={300} /></code></p>}
            </li>
          ))}
        </ul>
      )}
    </Dialog>
  )
}
