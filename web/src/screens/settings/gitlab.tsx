import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { agent, body, team, type Agent } from '../../lib/api'
import { useAct } from '../../lib/act'
import { useRole } from '../../lib/me'
import { Shown } from '../../lib/show'
import { Button, Card, Confirm, Copy, Dialog, Empty, Facts, Loading, Problem, Time } from '../../ui/kit'
import { t } from '../../texts'
import { Repositories, Reviews } from './forge'

const l = t.gitlab
type Connection = Agent['GitLabConnection']
const keys = ['gitlab', 'gitlab-repos', 'gitlab-reviews']

/** The accounts at GitLabs that the team has connected, how their projects are reviewed, and what was found. */
export function GitLab() {
  const found = useQuery({ queryKey: ['gitlab', team.id], queryFn: () => body(agent.GET('/api/v1/gitlab/connections')) })
  return (
    <div className="grid max-w-5xl gap-4 *:min-w-0">
      {found.error ? <Problem error={found.error} retry={() => void found.refetch()} /> : !found.data ? <Loading what={l.connections} /> : (
        <>
          <Connections of={found.data.connections} />
          {found.data.total > 0 && <Repositories of="gitlab" />}
          {found.data.total > 0 && <Reviews of="gitlab" />}
        </>
      )}
    </div>
  )
}

function Connections({ of }: { of: Connection[] }) {
  const role = useRole()
  const [open, setOpen] = useState<Connection | 'new'>()
  const [gone, setGone] = useState<Connection>()
  const [made, setMade] = useState<Connection>()
  const drop = useAct(() => agent.DELETE('/api/v1/gitlab/connections/{gitlab_connection_id}', { params: { path: { gitlab_connection_id: gone!.id } } }), keys, () => setGone(undefined), { shown: true })
  return (
    <Card title={l.connections} flush actions={role.admin && <Button kind={of.length === 0 ? 'primary' : ''} onClick={() => setOpen('new')}>{l.connect}</Button>}>
      {of.length === 0 ? <Empty title={l.none}>{l.noneText}</Empty> : (
        <ul className="divide-y divide-line">
          {of.map((x) => (
            <li key={x.id} className="flex flex-wrap items-start gap-3 px-3 py-2.5 text-sm">
              <div className="min-w-0 flex-1 basis-72">
                <p><Shown text={x.username} max={80} className="font-medium" /> · <Shown text={x.url} max={200} /></p>
                <p className="text-xs text-muted">{l.projects(x.total_projects)} · {location.origin + x.webhook_path}{x.checked_at && <> · {l.answered} <Time at={x.checked_at} /></>}</p>
                {x.error && <p className="text-xs text-high"><Shown text={x.error} max={300} /></p>}
              </div>
              {role.admin && <span className="flex flex-wrap gap-2"><Button onClick={() => setOpen(x)}>{l.change}</Button><Button onClick={() => setGone(x)}>{l.disconnect}</Button></span>}
            </li>
          ))}
        </ul>
      )}
      {open && <Form of={open === 'new' ? undefined : open} onClose={() => setOpen(undefined)} onDone={(x) => { setOpen(undefined); if (x.webhook_secret) setMade(x) }} />}
      {made && (
        <Dialog title={l.hookTitle} onClose={() => setMade(undefined)}>
          <p className="mb-4 text-sm">{l.hookText}</p>
          <Facts of={[
            [l.hook, <span key="u"><code className="text-xs break-all">{location.origin + made.webhook_path}</code> <Copy text={location.origin + made.webhook_path} /></span>],
            [l.token2, <span key="s"><code className="text-xs break-all">{made.webhook_secret}</code> <Copy text={made.webhook_secret ?? ''} /></span>],
          ]} />
          <p className="mt-4 flex justify-end"><Button kind="primary" onClick={() => setMade(undefined)}>{t.close}</Button></p>
        </Dialog>
      )}
      {gone && <Confirm title={l.dropTitle} action={l.disconnect} busy={drop.isPending} error={drop.error} onClose={() => setGone(undefined)} onYes={() => drop.mutate()}>{l.dropText(gone.username)}</Confirm>}
    </Card>
  )
}

const lines = (s: string) => s.split('\n').map((x) => x.trim()).filter(Boolean)

/** Connects an account, or changes the connection of one. */
function Form({ of, onClose, onDone }: { of?: Connection; onClose: () => void; onDone: (x: Connection) => void }) {
  const [url, setURL] = useState('https://gitlab.com')
  const [token, setToken] = useState('')
  const [paths, setPaths] = useState<string>()
  const [again, setAgain] = useState(false)
  const known = useQuery({ queryKey: ['gitlab-paths', team.id, of?.id], enabled: !!of, queryFn: async () => (await body(agent.GET('/api/v1/gitlab/projects'))).projects.filter((x) => x.connection_id === of!.id).map((x) => x.project).join('\n') })
  const text = paths ?? known.data ?? ''
  const save = useAct(() => of
    ? body(agent.PATCH('/api/v1/gitlab/connections/{gitlab_connection_id}', { params: { path: { gitlab_connection_id: of.id } }, body: { token: token || undefined, projects: paths === undefined ? undefined : lines(paths), new_webhook_secret: again } }))
    : body(agent.POST('/api/v1/gitlab/connections', { body: { url, token, projects: lines(text) } })), keys, onDone, { shown: true })
  return (
    <Dialog title={of ? l.changeTitle : l.connectTitle} onClose={onClose}>
      <form className="grid gap-3 text-sm" onSubmit={(e) => { e.preventDefault(); save.mutate() }}>
        {!of && <label>{l.url}<input className="field" type="url" required maxLength={500} value={url} onChange={(e) => setURL(e.target.value)} /></label>}
        <label>{l.token}<input className="field" type="password" autoComplete="off" required={!of} maxLength={500} value={token} onChange={(e) => setToken(e.target.value)} /><span className="text-xs text-muted">{of ? l.tokenKept : l.tokenHint}</span></label>
        <label>{l.paths}<textarea className="field" rows={4} required disabled={!!of && known.isPending} spellCheck={false} value={text} onChange={(e) => setPaths(e.target.value)} /><span className="text-xs text-muted">{of ? l.pathsAll : l.pathsHint}</span></label>
        {of && <label className="flex items-center gap-2"><input type="checkbox" checked={again} onChange={(e) => setAgain(e.target.checked)} /> {l.secret}</label>}
        {save.error && <Problem error={save.error} />}
        <div className="flex justify-end gap-2"><Button onClick={onClose}>{t.cancel}</Button><Button kind="primary" type="submit" disabled={save.isPending}>{of ? t.save : l.connect}</Button></div>
      </form>
    </Dialog>
  )
}
