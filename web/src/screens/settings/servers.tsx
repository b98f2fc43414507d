import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { agent, body, team, type Agent } from '../../lib/api'
import { useAct } from '../../lib/act'
import { useRole } from '../../lib/me'
import { useURL } from '../../lib/search'
import { Shown } from '../../lib/show'
import { Button, Card, Chip, Confirm, Dialog, Empty, Field, Problem, Loading } from '../../ui/kit'
import { toast } from '../../ui/toast'
import { t } from '../../texts'
import { ServerForm } from './server-form'

// MCP servers, at an address or run by this server, and their authorization by OAuth 2.1: begun here, allowed at the
// authorization server, and finished here by the code that the browser comes back with.

const o = t.tools
type Server = Agent['MCPServer']

const serverTone: Record<string, string> = { connected: 'good', changed: 'wait', failed: 'bad' }

export function Servers() {
  const role = useRole()
  const [adding, setAdding] = useState(false)
  const [gone, setGone] = useState<Server>()
  const [changing, setChanging] = useState<Server>()
  const [authorizing, setAuthorizing] = useState<Server>()
  const [revoking, setRevoking] = useState<Server>()
  const [search] = useURL()
  const found = useQuery({ queryKey: ['mcp', team.id], queryFn: () => body(agent.GET('/api/v1/mcp/servers')) })
  // A list has the tools that were accepted; what is new or has changed is in the answers to what a person does here.
  const [looked, setLooked] = useState<Record<string, Server>>({})
  const keep = (x: Server) => setLooked((old) => ({ ...old, [x.id]: x }))
  const at = (id: string) => ({ params: { path: { mcp_server_id: id } } })
  const look = useAct((id: string) => body(agent.POST('/api/v1/mcp/servers/{mcp_server_id}/validate', at(id))), ['mcp'], keep)
  const accept = useAct((x: { id: string; digests: string[] }) => body(agent.POST('/api/v1/mcp/servers/{mcp_server_id}/accept', { ...at(x.id), body: { digests: x.digests } })), ['mcp'], keep)
  const remove = useAct(() => agent.DELETE('/api/v1/mcp/servers/{mcp_server_id}', at(gone!.id)), ['mcp'], () => setGone(undefined), { shown: true })
  const revoke = useAct(() => agent.DELETE('/api/v1/mcp/servers/{mcp_server_id}/authorization', at(revoking!.id)), ['mcp'], () => setRevoking(undefined), { shown: true })
  return (
    <Card title={o.servers} flush actions={role.writes && <Button onClick={() => setAdding(true)}>{o.newServer}</Button>}>
      {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={o.servers} /> : found.data.servers.length === 0 ? <Empty title={o.noServers}>{o.noServersText}</Empty> : (
        <ul className="divide-y divide-line">
          {found.data.servers.map((x) => {
            const tools = looked[x.id]?.tools ?? x.tools
            const fresh = tools.filter((y) => y.state === 'new' || y.state === 'changed')
            return (
              <li key={x.id} className="px-3 py-2.5 text-sm">
                <div className="flex flex-wrap items-start gap-3"><div className="min-w-0 flex-1 basis-72"><p className="flex flex-wrap items-center gap-2"><Shown text={x.name} max={80} className="font-medium" /><Chip tone={serverTone[x.status]}>{o.serverState[x.status]}</Chip>{x.shared && <Chip>{t.projects.shared}</Chip>}{!x.enabled && <Chip tone="wait">{o.isOff}</Chip>}</p><p className="text-xs text-muted"><Shown text={x.url || x.command.join(' ')} max={200} /></p>{x.oauth.authorized && <p className="text-xs text-good">{o.authorized} <Shown text={x.oauth.issuer} max={120} /></p>}{x.error && <p className="text-xs text-high"><Shown text={x.error} max={300} /></p>}{x.log && <details className="text-xs"><summary className="text-muted">{o.log}</summary><pre className="raw mt-1 max-h-40 overflow-auto" tabIndex={0}><Shown text={x.log} max={4000} /></pre></details>}</div>
                  {role.writes && x.is_owner && <span className="flex flex-wrap gap-2">{x.url && (x.oauth.authorized ? <Button onClick={() => setRevoking(x)}>{o.revoke}</Button> : !x.masked_token && <Button onClick={() => setAuthorizing(x)}>{o.authorize}</Button>)}<Button disabled={look.isPending} onClick={() => look.mutate(x.id)}>{o.look}</Button><Button onClick={() => setChanging({ ...x, tools })}>{t.notify.edit}</Button><Button onClick={() => setGone(x)}>{t.delete}</Button></span>}</div>
                {tools.length > 0 && <details className="mt-1"><summary className="text-xs text-muted">{o.nTools(tools.length)}</summary>
                  <ul className="mt-1 grid gap-1">{tools.map((y) => <li key={y.name} className="text-xs"><code><Shown text={y.offered_as || y.name} max={100} /></code> <Chip tone={y.state === 'accepted' ? 'good' : y.state === 'gone' ? 'calm' : 'wait'}>{o.toolState[y.state]}</Chip> <span className="text-muted"><Shown text={y.description} max={240} /></span></li>)}</ul></details>}
                {role.writes && x.is_owner && fresh.length > 0 && <p className="mt-2"><Button disabled={accept.isPending} onClick={() => accept.mutate({ id: x.id, digests: fresh.map((y) => y.digest) })}>{o.accept(fresh.length)}</Button></p>}
              </li>
            )
          })}
        </ul>
      )}
      {authorizing && <Authorize of={authorizing} onClose={() => setAuthorizing(undefined)} />}
      {revoking && <Confirm title={o.revokeTitle} action={o.revoke} busy={revoke.isPending} error={revoke.error} onClose={() => setRevoking(undefined)} onYes={() => revoke.mutate()}>{o.revokeText(revoking.name)}</Confirm>}
      {search.state && search.code && found.data && <Finish servers={found.data.servers} onDone={keep} />}
      {adding && <ServerForm onDone={keep} onClose={() => setAdding(false)} />}
      {changing && <ServerForm of={changing} onDone={keep} onClose={() => setChanging(undefined)} />}
      {gone && <Confirm title={o.deleteTitle} action={t.delete} busy={remove.isPending} error={remove.error} onClose={() => setGone(undefined)} onYes={() => remove.mutate()}>{o.deleteText(gone.name)}</Confirm>}
    </Card>
  )
}

/** Begins an authorization: the person goes to the server's own sign-in, and comes back with a code. */
function Authorize({ of, onClose }: { of: Server; onClose: () => void }) {
  const [client, setClient] = useState('')
  const [secret, setSecret] = useState('')
  const [scopes, setScopes] = useState('')
  const begin = useAct(() => body(agent.POST('/api/v1/mcp/servers/{mcp_server_id}/authorize', { params: { path: { mcp_server_id: of.id } }, body: { client_id: client || undefined, client_secret: secret || undefined, scopes: scopes.trim() ? scopes.trim().split(/\s+/) : undefined } })), [], undefined, { shown: true })
  const to = begin.data?.authorization_url
  const host = to && /^https?:/.test(to) ? new URL(to).host : ''
  return (
    <Dialog title={o.authorizeTitle(of.name)} onClose={onClose}>
      {host ? (
        <div className="text-sm"><p className="mb-4">{o.openText}</p><p className="flex justify-end gap-2"><Button onClick={onClose}>{t.close}</Button><a className="btn btn-primary" href={to} rel="noreferrer" autoFocus>{o.open(host)}</a></p></div>
      ) : (
        <form onSubmit={(e) => { e.preventDefault(); begin.mutate() }}>
          <p className="mb-4 text-sm text-muted">{o.authorizeText}</p>
          <Field label={o.clientId} hint={o.clientIdHint}>{(p) => <input {...p} className="field" autoComplete="off" maxLength={2000} value={client} onChange={(e) => setClient(e.target.value)} />}</Field>
          {client && <Field label={o.clientSecret}>{(p) => <input {...p} type="password" className="field" autoComplete="off" maxLength={2000} value={secret} onChange={(e) => setSecret(e.target.value)} />}</Field>}
          <Field label={o.scopes} hint={o.scopesHint}>{(p) => <input {...p} className="field" maxLength={2000} value={scopes} onChange={(e) => setScopes(e.target.value)} />}</Field>
          {begin.error && <Problem error={begin.error} />}
          <div className="flex justify-end gap-2"><Button onClick={onClose}>{t.cancel}</Button><Button kind="primary" type="submit" disabled={begin.isPending}>{o.begin}</Button></div>
        </form>
      )}
    </Dialog>
  )
}

/** Finishes an authorization with what the address has. It waits for the person, and leaves nothing in the address. */
function Finish({ servers, onDone }: { servers: Server[]; onDone: (x: Server) => void }) {
  const [search, set] = useURL()
  const of = servers.find((x) => x.is_owner && x.id === search.state!.split('.')[0])
  const close = () => set({ state: undefined, code: undefined, iss: undefined }, { replace: true })
  const finish = useAct(() => body(agent.POST('/api/v1/mcp/servers/{mcp_server_id}/authorized', { params: { path: { mcp_server_id: of!.id } }, body: { state: search.state!, code: search.code!, iss: search.iss } })), ['mcp'], (x) => { onDone(x); toast(o.finished(of!.name)); close() }, { shown: true })
  return (
    <Dialog title={o.finishTitle} onClose={close}>
      <p className="mb-4 text-sm">{of ? o.finishText(of.name) : o.gone}</p>
      {finish.error && <Problem error={finish.error} />}
      <div className="flex justify-end gap-2"><Button onClick={close}>{t.cancel}</Button>{of && <Button kind="primary" disabled={finish.isPending} onClick={() => finish.mutate()}>{o.finish}</Button>}</div>
    </Dialog>
  )
}
