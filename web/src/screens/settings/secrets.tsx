import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { agent, body, team } from '../../lib/api'
import { useAct } from '../../lib/act'
import { useRole } from '../../lib/me'
import { Shown } from '../../lib/show'
import { Button, Card, Chip, Confirm, Copy, Empty, Field, Loading, Problem, Table, Time } from '../../ui/kit'
import { toast } from '../../ui/toast'
import { t } from '../../texts'

const s = t.secrets

/** Values that tasks use and nobody reads again. */
export function Secrets() {
  const role = useRole()
  const [name, setName] = useState('')
  const [value, setValue] = useState('')
  const [all, setAll] = useState(false)
  const [gone, setGone] = useState<{ id: string; name: string }>()
  const found = useQuery({ queryKey: ['secrets', team.id], queryFn: () => body(agent.GET('/api/v1/secrets')) })
  const create = useAct(() => body(agent.POST('/api/v1/secrets', { body: { name, value, default_available: all } })), ['secrets'], (x) => { setName(''); setValue(''); toast(s.made(x.name)) }, { shown: true })
  const give = useAct((x: { id: string; on: boolean }) => agent.PATCH('/api/v1/secrets/{secret_id}', { params: { path: { secret_id: x.id } }, body: { default_available: x.on } }), ['secrets'])
  const remove = useAct(() => agent.DELETE('/api/v1/secrets/{secret_id}', { params: { path: { secret_id: gone!.id } } }), ['secrets'], () => setGone(undefined), { shown: true })
  return (
    <div className="grid max-w-4xl gap-4 *:min-w-0">
      {role.writes && (
        <Card title={s.new}>
          <form onSubmit={(e) => { e.preventDefault(); create.mutate() }}>
            <div className="grid gap-x-3 sm:grid-cols-2">
              <Field label={s.name} hint={s.nameHint}>{(p) => <input {...p} className="field font-mono" required maxLength={100} spellCheck={false} value={name} onChange={(e) => setName(e.target.value)} />}</Field>
              <Field label={s.value} hint={s.valueHint}>{(p) => <input {...p} className="field font-mono" type="password" autoComplete="off" required value={value} onChange={(e) => setValue(e.target.value)} />}</Field>
            </div>
            <label className="mb-4 flex items-center gap-2 text-sm"><input type="checkbox" checked={all} onChange={(e) => setAll(e.target.checked)} />{s.all}</label>
            {create.error && <Problem error={create.error} />}
            <Button type="submit" kind="primary" disabled={create.isPending}>{s.store}</Button>
          </form>
        </Card>
      )}
      <Card flush>
        {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={t.settings.page.secrets!} /> : found.data.secrets.length === 0 ? <Empty title={s.none}>{s.noneText}</Empty> : (
          <Table label={t.settings.page.secrets!} head={[s.name, s.value, s.all, s.stored, '']}>
            {found.data.secrets.map((x) => (
              <tr key={x.id}><td><code className="font-medium"><Shown text={x.name} max={100} /></code> {x.created_by_agent && <Chip>{s.byAgent}</Chip>}</td><td><code className="text-muted"><Shown text={x.masked_value} max={40} /></code></td>
                <td><input type="checkbox" className="size-4" aria-label={s.allOf(x.name)} disabled={!role.writes} checked={x.default_available} onChange={(e) => give.mutate({ id: x.id, on: e.target.checked })} /></td>
                <td className="text-muted"><Time at={x.updated_at} /></td><td className="text-right">{role.writes && <Button onClick={() => setGone(x)}>{t.delete}</Button>}</td></tr>
            ))}
          </Table>
        )}
      </Card>
      {gone && <Confirm title={s.deleteTitle} action={t.delete} busy={remove.isPending} error={remove.error} onClose={() => setGone(undefined)} onYes={() => remove.mutate()}>{s.deleteText(gone.name)}</Confirm>}
    </div>
  )
}

const k = t.ssh
const kinds = ['ed25519', 'ecdsa-256', 'rsa-4096', 'own', 'password'] as const

/** Keys and passwords with which tasks sign in over SSH, and the hosts whose keys are known. */
export function SSH() {
  const role = useRole()
  const [kind, setKind] = useState<(typeof kinds)[number]>('ed25519')
  const [name, setName] = useState('')
  const [secret, setSecret] = useState('')
  const [user, setUser] = useState('')
  const [host, setHost] = useState('')
  const [gone, setGone] = useState<{ id: string; name: string }>()
  const [forget, setForget] = useState<{ id: string; address: string }>()
  const keys = useQuery({ queryKey: ['ssh-keys', team.id], queryFn: () => body(agent.GET('/api/v1/ssh-keys')) })
  const hosts = useQuery({ queryKey: ['ssh-hosts', team.id], queryFn: () => body(agent.GET('/api/v1/ssh-hosts')) })
  const create = useAct(() => body(agent.POST('/api/v1/ssh-keys', {
    body: {
      name, default_username: user || undefined, default_host: host || undefined,
      ...(kind === 'password' ? { password: secret } : kind === 'own' ? { private_key: secret } : { algorithm: kind }),
    } as never,
  })), ['ssh-keys'], (x) => { setName(''); setSecret(''); toast(k.made(x.name)) }, { shown: true })
  const remove = useAct(() => agent.DELETE('/api/v1/ssh-keys/{ssh_key_id}', { params: { path: { ssh_key_id: gone!.id } } }), ['ssh-keys'], () => setGone(undefined), { shown: true })
  const drop = useAct(() => agent.DELETE('/api/v1/ssh-hosts/{ssh_host_id}', { params: { path: { ssh_host_id: forget!.id } } }), ['ssh-hosts'], () => setForget(undefined), { shown: true })
  return (
    <div className="grid max-w-5xl gap-4 *:min-w-0">
      {role.writes && (
        <Card title={k.new}>
          <form onSubmit={(e) => { e.preventDefault(); create.mutate() }}>
            <div className="grid gap-x-3 sm:grid-cols-2">
              <Field label={k.name} hint={k.nameHint}>{(p) => <input {...p} className="field" required maxLength={100} value={name} onChange={(e) => setName(e.target.value)} />}</Field>
              <Field label={k.kind}>{(p) => <select {...p} className="field" value={kind} onChange={(e) => setKind(e.target.value as typeof kind)}>{kinds.map((x) => <option key={x} value={x}>{k.kinds[x]}</option>)}</select>}</Field>
              <Field label={k.user}>{(p) => <input {...p} className="field" maxLength={100} value={user} onChange={(e) => setUser(e.target.value)} />}</Field>
              <Field label={k.host}>{(p) => <input {...p} className="field" maxLength={253} value={host} onChange={(e) => setHost(e.target.value)} />}</Field>
            </div>
            {kind === 'password' && <Field label={t.login.password}>{(p) => <input {...p} className="field" type="password" autoComplete="off" required value={secret} onChange={(e) => setSecret(e.target.value)} />}</Field>}
            {kind === 'own' && <Field label={k.own} hint={k.ownHint}>{(p) => <textarea {...p} className="field font-mono" rows={5} spellCheck={false} required value={secret} onChange={(e) => setSecret(e.target.value)} />}</Field>}
            {create.error && <Problem error={create.error} />}
            <Button type="submit" kind="primary" disabled={create.isPending}>{kind === 'own' || kind === 'password' ? s.store : k.generate}</Button>
          </form>
        </Card>
      )}
      <Card flush>
        {keys.error ? <Problem error={keys.error} /> : !keys.data ? <Loading what={t.settings.page.ssh!} /> : keys.data.ssh_keys.length === 0 ? <Empty title={k.none}>{k.noneText}</Empty> : (
          <Table label={t.settings.page.ssh!} head={[k.name, k.kind, k.goes, k.fingerprint, s.stored, '']}>
            {keys.data.ssh_keys.map((x) => (
              <tr key={x.id}><td><Shown text={x.name} max={80} className="font-medium" /></td><td>{x.auth_type === 'password' ? k.kinds.password : x.algorithm}</td><td className="text-muted"><Shown text={[x.default_username, x.default_host].filter(Boolean).join('@')} max={100} /></td>
                <td>{x.fingerprint && <code className="text-xs break-all"><Shown text={x.fingerprint} max={80} /></code>}{x.public_key && <> <Copy text={x.public_key} label={k.copyPublic} /></>}</td><td className="text-muted"><Time at={x.created_at} /></td><td className="text-right">{role.writes && <Button onClick={() => setGone(x)}>{t.delete}</Button>}</td></tr>
            ))}
          </Table>
        )}
      </Card>
      <Card title={k.hosts} flush>
        {hosts.error ? <Problem error={hosts.error} /> : !hosts.data ? <Loading what={k.hosts} /> : hosts.data.hosts.length === 0 ? <Empty title={k.noHosts}>{k.noHostsText}</Empty> : (
          <Table label={k.hosts} head={[t.assets.address, k.fingerprint, k.pinned, '']}>
            {hosts.data.hosts.map((h) => <tr key={h.id}><td><Shown text={h.address} max={120} className="font-medium" /></td><td><code className="text-xs break-all"><Shown text={h.fingerprint} max={80} /></code></td><td className="text-muted"><Time at={h.created_at} /></td><td className="text-right">{role.admin && <Button onClick={() => setForget(h)}>{k.forget}</Button>}</td></tr>)}
          </Table>
        )}
      </Card>
      {gone && <Confirm title={k.deleteTitle} action={t.delete} busy={remove.isPending} error={remove.error} onClose={() => setGone(undefined)} onYes={() => remove.mutate()}>{k.deleteText(gone.name)}</Confirm>}
      {forget && <Confirm title={k.forgetTitle} action={k.forget} busy={drop.isPending} error={drop.error} onClose={() => setForget(undefined)} onYes={() => drop.mutate()}>{k.forgetText(forget.address)}</Confirm>}
    </div>
  )
}
