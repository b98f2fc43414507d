import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { body, platform, team, type Platform } from '../../lib/api'
import { useAct } from '../../lib/act'
import { useMe, useRole } from '../../lib/me'
import { Shown } from '../../lib/show'
import { Button, Card, Chip, Confirm, Field, Loading, Problem, Table, Time } from '../../ui/kit'
import { failed, toast } from '../../ui/toast'
import { t } from '../../texts'

type Member = Platform['DefaultMember']
const roles = ['ADMIN', 'MEMBER', 'VIEWER', 'GUEST'] as const

export function Members() {
  const role = useRole()
  const me = useMe()
  const queries = useQueryClient()
  const [email, setEmail] = useState('')
  const [as, setAs] = useState<(typeof roles)[number]>('MEMBER')
  const [leaving, setLeaving] = useState('')
  const found = useQuery({ queryKey: ['members', team.id], queryFn: () => body(platform.GET('/v1/user/team/member')) })
  const refresh = () => void queries.invalidateQueries({ queryKey: ['members'] })
  const invite = useMutation({ mutationFn: () => platform.POST('/v1/user/team/member', { body: { email, role: as } }), onSuccess: () => { toast(t.settings.invited(email)); setEmail(''); refresh() } })
  const give = useMutation({ mutationFn: (m: { email: string; role: (typeof roles)[number] }) => platform.PATCH('/v1/user/team/member', { body: m }), onSuccess: refresh, onError: (e) => { failed(e); refresh() } })
  const remove = useMutation({ mutationFn: () => platform.DELETE('/v1/user/team/member', { body: { email: leaving } }), onSuccess: () => { setLeaving(''); refresh() } })
  return (
    <div className="grid max-w-4xl gap-4 *:min-w-0">
      {role.admin && (
        <Card title={t.settings.invite}>
          <form className="flex flex-wrap items-end gap-3" onSubmit={(e) => { e.preventDefault(); invite.mutate() }}>
            <div className="min-w-56 flex-1 [&>div]:mb-0"><Field label={t.login.email}>{(p) => <input {...p} className="field" type="email" required value={email} onChange={(e) => setEmail(e.target.value)} />}</Field></div>
            <div className="w-36 [&>div]:mb-0"><Field label={t.settings.role}>{(p) => <select {...p} className="field" value={as} onChange={(e) => setAs(e.target.value as typeof as)}>{roles.map((r) => <option key={r} value={r}>{t.settings.roles[r]}</option>)}</select>}</Field></div>
            <Button type="submit" kind="primary" disabled={invite.isPending}>{t.settings.invite}</Button>
          </form>
          {invite.error && <Problem error={invite.error} />}
        </Card>
      )}
      <Card flush>
        {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={t.settings.page.members!} /> : (
          <Table label={t.settings.page.members!} head={[t.login.email, t.settings.role, t.scans.state, t.settings.lastSignIn, '']}>
            {found.data.members.map((m) => (
              <tr key={m.email}>
                <td><Shown text={m.email} max={100} className="font-medium" /> {m.service && <Chip>{t.settings.service}</Chip>}</td>
                <td>{role.admin && m.role !== 'OWNER' && m.email !== me.data?.email && m.status === 'active'
                  ? <select className="field !w-auto" aria-label={t.settings.roleOf(m.email)} value={m.role} onChange={(e) => give.mutate({ email: m.email, role: e.target.value as (typeof roles)[number] })}>{roles.map((r) => <option key={r} value={r}>{t.settings.roles[r]}</option>)}</select>
                  : t.settings.roles[m.role]}</td>
                <td>{m.status === 'pending' ? <Chip tone="wait">{t.settings.pending}</Chip> : <Chip tone="good">{t.settings.active}</Chip>}</td>
                <td className="text-muted"><Time at={m.last_sign_in} /></td>
                <td className="text-right">{role.admin && m.role !== 'OWNER' && m.email !== me.data?.email && <Button onClick={() => setLeaving(m.email)}>{t.settings.remove}</Button>}</td>
              </tr>
            ))}
          </Table>
        )}
      </Card>
      {role.admin && <Defaults />}
      {leaving && <Confirm title={t.settings.removeTitle} action={t.settings.remove} busy={remove.isPending} error={remove.error} onClose={() => setLeaving('')} onYes={() => remove.mutate()}>{t.settings.removeText(leaving)}</Confirm>}
    </div>
  )
}

/** Who is invited to each team that is made from this one. The list is stored as a whole; Undo stores the one before. */
function Defaults() {
  const [email, setEmail] = useState('')
  const [as, setAs] = useState<(typeof roles)[number]>('MEMBER')
  const found = useQuery({ queryKey: ['default-members', team.id], queryFn: () => body(platform.GET('/v1/user/team/default-members')) })
  const list = found.data?.members ?? []
  const set = useAct((members: Member[]) => platform.POST('/v1/user/team/default-members', { body: { members } }), ['default-members'])
  const add = () => set.mutate([...list.filter((m) => m.email !== email), { email, role: as }], { onSuccess: () => { toast(t.settings.defaultAdded(email)); setEmail('') } })
  const drop = (m: Member) => set.mutate(list.filter((x) => x.email !== m.email), { onSuccess: () => toast(t.settings.defaultRemoved(m.email), () => set.mutate(list)) })
  return (
    <Card title={t.settings.defaults} flush>
      <div className="p-3">
        <p className="mb-3 text-sm text-muted">{t.settings.defaultsText}</p>
        <form className="flex flex-wrap items-end gap-3" onSubmit={(e) => { e.preventDefault(); add() }}>
          <div className="min-w-56 flex-1 [&>div]:mb-0"><Field label={t.login.email}>{(p) => <input {...p} className="field" type="email" required value={email} onChange={(e) => setEmail(e.target.value)} />}</Field></div>
          <div className="w-36 [&>div]:mb-0"><Field label={t.settings.role}>{(p) => <select {...p} className="field" value={as} onChange={(e) => setAs(e.target.value as typeof as)}>{roles.map((r) => <option key={r} value={r}>{t.settings.roles[r]}</option>)}</select>}</Field></div>
          <Button type="submit" disabled={set.isPending || !found.data}>{t.settings.addDefault}</Button>
        </form>
      </div>
      {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={t.settings.defaults} /> : list.length > 0 && (
        <Table label={t.settings.defaults} head={[t.login.email, t.settings.role, '']}>
          {list.map((m) => <tr key={m.email}><td><Shown text={m.email} max={100} className="font-medium" /></td><td>{t.settings.roles[m.role]}</td><td className="text-right"><Button disabled={set.isPending} aria-label={t.settings.removeOne(m.email)} onClick={() => drop(m)}>{t.settings.remove}</Button></td></tr>)}
        </Table>
      )}
    </Card>
  )
}
