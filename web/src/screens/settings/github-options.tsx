import { useId, useState } from 'react'
import type { Agent } from '../../lib/api'
import { useAct } from '../../lib/act'
import { useRole } from '../../lib/me'
import { Shown } from '../../lib/show'
import { Button, Chip, Dialog, Problem } from '../../ui/kit'
import { toast } from '../../ui/toast'
import { t } from '../../texts'

// How a repository is reviewed: each option as it holds, and whether that was set here. What no review heeds yet is left out.

const g = t.github
type Paths = Agent['GitHubPathInstructions'][]
type Value = boolean | number | string | string[] | Paths
type Kind = 'yes' | 'number' | 'list' | 'text' | 'paths' | string[]
const severities = ['critical', 'high', 'medium', 'low', 'info']
const options: [name: string, kind: Kind][] = [
  ['auto_review', 'yes'], ['draft_policy', ['skip', 'review']], ['focus', ['all', 'secrets', 'misconfiguration', 'code']], ['severity_threshold', severities], ['check_gate', ['off', ...severities]],
  ['review_output_mode', ['comments', 'summary', 'check']], ['max_inline_comments', 'number'], ['tone', ['detailed', 'concise']], ['high_level_summary', 'yes'], ['suggested_changes_enabled', 'yes'],
  ['model_review', 'yes'], ['custom_instructions', 'text'], ['path_instructions', 'paths'],
  ['exclude_patterns', 'list'], ['branch_include', 'list'], ['branch_exclude', 'list'], ['author_include', 'list'], ['author_exclude', 'list'], ['keyword_include', 'list'], ['keyword_exclude', 'list'], ['label_include', 'list'], ['label_exclude', 'list'],
]

export function Options({ name: of, own = 'repo', config, keys, save: send, onClose }: { name: string; own?: 'repo' | 'team'; config: Agent['GitHubRepository']['effective_config']; keys: string[]; save: (change: object) => Promise<unknown>; onClose: () => void }) {
  const role = useRole()
  const [changed, setChanged] = useState<Record<string, Value>>({})
  const [reset, setReset] = useState<ReadonlySet<string>>(new Set())
  const save = useAct(() => send({ ...changed, reset_fields: [...reset] }), keys, () => { toast(g.saved(of)); onClose() }, { shown: true })
  const put = (name: string, value: Value) => { setChanged({ ...changed, [name]: value }); setReset(new Set([...reset].filter((x) => x !== name))) }
  const back = (name: string) => { const { [name]: _, ...rest } = changed; setChanged(rest); setReset(new Set([...reset, name])) }
  return (
    <Dialog wide title={<Shown text={of} max={120} />} onClose={onClose}>
      <form onSubmit={(e) => { e.preventDefault(); save.mutate() }}>
        <div className="divide-y divide-line">
          {options.map(([name, kind]) => {
            const now = config[name]
            const here = name in changed || (now?.source === own && !reset.has(name))
            return (
              <Option key={name + (reset.has(name) ? ' reset' : '')} name={name} kind={kind} value={changed[name] ?? (now?.value as Value)} unknown={reset.has(name)} here={here} team={own === 'repo' && now?.source === 'team'}
                put={role.admin ? (v) => put(name, v) : undefined} back={role.admin && here ? () => back(name) : undefined} />
            )
          })}
        </div>
        {save.error && <Problem error={save.error} />}
        <div className="mt-4 flex justify-end gap-2"><Button onClick={onClose}>{role.admin ? t.cancel : t.close}</Button>{role.admin && <Button kind="primary" type="submit" disabled={save.isPending || (Object.keys(changed).length === 0 && reset.size === 0)}>{t.save}</Button>}</div>
      </form>
    </Dialog>
  )
}

const lines = (s: string) => s.split('\n').map((x) => x.trim()).filter(Boolean)

/** One option. Its value is not known while it waits to go back to its default. */
function Option({ name, kind, value, unknown, here, team, put, back }: { name: string; kind: Kind; value: Value; unknown: boolean; here: boolean; team: boolean; put?: (v: Value) => void; back?: () => void }) {
  const id = useId()
  const [typed, setText] = useState<string>()
  const text = typed ?? (Array.isArray(value) ? value.join('\n') : String(value ?? ''))
  const common = { id, disabled: !put, 'aria-describedby': `${id}-about`, className: 'field' }
  return (
    <div className="grid gap-x-3 gap-y-1 py-2.5 text-sm sm:grid-cols-[minmax(0,1fr)_14rem_9.5rem]">
      <div>{kind === 'paths' ? <span className="font-medium">{g.option[name]![0]}</span> : <label htmlFor={id} className="font-medium">{g.option[name]![0]}</label>}<p id={`${id}-about`} className="text-xs text-muted">{g.option[name]![1]}</p></div>
      <div>
        {unknown ? <span className="text-muted">{g.goesBack}</span>
          : kind === 'yes' ? <select {...common} value={String(value)} onChange={(e) => put?.(e.target.value === 'true')}><option value="true">{g.yes}</option><option value="false">{g.no}</option></select>
            : kind === 'number' ? <input {...common} type="number" min={0} max={1000} required value={text} onChange={(e) => { setText(e.target.value); if (e.target.value !== '') put?.(Number(e.target.value)) }} />
              : kind === 'text' ? <textarea {...common} rows={2} maxLength={10_000} value={text} onChange={(e) => { setText(e.target.value); put?.(e.target.value) }} />
              : kind === 'paths' ? <PathList name={g.option[name]![0]} of={(value ?? []) as Paths} put={put} />
              : kind === 'list' ? <textarea {...common} rows={2} spellCheck={false} placeholder={g.oneALine} value={text} onChange={(e) => { setText(e.target.value); put?.(lines(e.target.value)) }} />
                : <select {...common} value={String(value)} onChange={(e) => put?.(e.target.value)}>{kind.map((k) => <option key={k} value={k}>{g.value[k] ?? t.severity[k] ?? k}</option>)}</select>}
      </div>
      <div className="flex items-start gap-2 sm:justify-end"><Chip tone={here ? 'busy' : 'calm'}>{!unknown && here ? g.isSet : team ? g.isTeam : g.isDefault}</Chip>{back && <button type="button" className="link min-h-6" aria-label={g.resetOf(g.option[name]![0]!)} onClick={back}>{g.reset}</button>}</div>
    </div>
  )
}

/** What a review of some files must heed, pattern by pattern. */
function PathList({ name, of, put }: { name: string; of: Paths; put?: (v: Paths) => void }) {
  const set = (i: number, change: Partial<Paths[number]>) => put?.(of.map((x, j) => (i === j ? { ...x, ...change } : x)))
  return (
    <div role="group" aria-label={name} className="grid gap-2">
      {of.map((x, i) => (
        <fieldset key={i} className="grid gap-1 rounded-sm border border-line p-2"><legend className="sr-only">{g.pathOf(i + 1)}</legend>
          <input className="field font-mono" aria-label={g.pathField} placeholder="deploy/**" required maxLength={200} spellCheck={false} disabled={!put} autoFocus={!x.path} value={x.path} onChange={(e) => set(i, { path: e.target.value })} />
          <textarea className="field" aria-label={g.pathText} rows={2} required maxLength={10_000} disabled={!put} value={x.instructions} onChange={(e) => set(i, { instructions: e.target.value })} />
          {put && <button type="button" className="link min-h-6 justify-self-start text-xs" onClick={() => put(of.filter((_, j) => j !== i))}>{g.dropPath(i + 1)}</button>}
        </fieldset>
      ))}
      {put ? <Button disabled={of.length >= 100} onClick={() => put([...of, { path: '', instructions: '' }])}>{g.addPath}</Button> : of.length === 0 && <span className="text-muted">{g.none2}</span>}
    </div>
  )
}
