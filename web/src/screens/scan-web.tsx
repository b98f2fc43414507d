import { t } from '../texts'
import { Card, Field } from '../ui/kit'

/** How an application is tested, as a person fills it in; webOptions makes the request of it. */
export type Web = { level: string; users: WebUser[]; description: File | null }
export type WebUser = { username: string; password: string; login: string }

const nobody: WebUser = { username: '', password: '', login: '' }

export const noWeb: Web = { level: 'safe', users: [nobody, nobody], description: null }

/** Whether what is filled in is about one application alone. */
export const isOfOne = (w: Web) => w.description !== null || w.users.some((u) => u.username !== '')

export async function webOptions(w: Web) {
  return {
    level: w.level,
    users: w.users.filter((u) => u.username !== '').map((u) => ({ username: u.username, password: u.password, login_url: u.login || undefined })),
    descriptions: w.description ? [{ name: w.description.name, contents: await w.description.text() }] : undefined,
  }
}

export function WebScan({ web, onChange }: { web: Web; onChange: (w: Web) => void }) {
  const setUser = (i: number, change: Partial<WebUser>) => onChange({ ...web, users: web.users.map((u, n) => (n === i ? { ...u, ...change } : u)) })
  return (
    <Card title={t.scans.web.title}>
      <Field label={t.scans.web.level} hint={t.scans.web.levelText[web.level]}>
        {(p) => <select {...p} className="field" value={web.level} onChange={(e) => onChange({ ...web, level: e.target.value })}>{['passive', 'safe', 'active', 'intrusive'].map((l) => <option key={l} value={l}>{t.scans.web.levels[l]}</option>)}</select>}
      </Field>
      {web.users.map((u, i) => (i === 0 || web.users[0]?.username !== '') && (
        <fieldset key={i} className="mb-4 rounded-sm border border-line p-3">
          <legend className="px-1 text-sm font-medium">{t.scans.web.user[i]}</legend>
          <p className="mb-3 text-xs text-muted">{t.scans.web.userText[i]}</p>
          <div className="grid gap-x-4 sm:grid-cols-2">
            <Field label={t.scans.web.username}>{(p) => <input {...p} className="field" maxLength={4096} autoComplete="off" spellCheck={false} value={u.username} onChange={(e) => setUser(i, { username: e.target.value })} />}</Field>
            <Field label={t.scans.web.password}>{(p) => <input {...p} type="password" className="field" maxLength={4096} autoComplete="new-password" required={u.username !== ''} value={u.password} onChange={(e) => setUser(i, { password: e.target.value })} />}</Field>
          </div>
          <Field label={t.scans.web.login} hint={t.scans.web.loginHint}>{(p) => <input {...p} type="url" className="field font-mono" maxLength={4096} spellCheck={false} value={u.login} onChange={(e) => setUser(i, { login: e.target.value })} />}</Field>
        </fieldset>
      ))}
      <Field label={t.scans.web.description} hint={t.scans.web.descriptionHint}>
        {(p) => <input {...p} type="file" className="block w-full text-sm file:mr-3 file:min-h-8 file:rounded-sm file:border file:border-line file:bg-panel file:px-3" onChange={(e) => onChange({ ...web, description: e.target.files?.[0] ?? null })} />}
      </Field>
    </Card>
  )
}
