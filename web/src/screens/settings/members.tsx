import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { body, platform, team } from '../../lib/api'
import { useMe, useRole } from '../../lib/me'
import { Shown } from '../../lib/show'
import { Button, Card, Chip, Confirm, Field, Loading, Problem, Table, Time } from '../../ui/kit'
import { failed, toast } from '../../ui/toast'
import { t } from '../../texts'

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
      {leaving && <Confirm title={t.settings.removeTitle} action={t.settings.remove} busy={remove.isPending} error={remove.error} onClose={() => setLeaving('')} onYes={() => remove.mutate()}>{t.settings.removeText(leaving)}</Confirm>}
    </div>
  )
}
