import { useParams } from '@tanstack/react-router'
import { lazy, Suspense, type ComponentType } from 'react'
import { useRole } from '../../lib/me'
import { Head, Loading, To, useNowInView, useTitle } from '../../ui/kit'
import { t } from '../../texts'
import { Missing } from '../crash'

// A page each, loaded when it is opened.
const page = <K extends string>(load: () => Promise<Record<K, ComponentType>>, name: K) => lazy(() => load().then((m) => ({ default: m[name] })))

const pages: Record<string, { group: keyof typeof t.settings.group; page: ComponentType; admin?: boolean; insider?: boolean }> = {
  account: { group: 'you', page: page(() => import('./account'), 'Account') },
  keys: { group: 'you', page: page(() => import('./keys'), 'Keys') },
  memory: { group: 'you', page: page(() => import('./memory'), 'Memory') },
  files: { group: 'you', page: page(() => import('./files'), 'Files') },
  members: { group: 'team', page: page(() => import('./members'), 'Members'), insider: true },
  models: { group: 'team', page: page(() => import('./models'), 'Models'), insider: true },
  scope: { group: 'team', page: page(() => import('./scope'), 'Scope'), insider: true },
  credits: { group: 'team', page: page(() => import('./credits'), 'Credits'), insider: true },
  due: { group: 'team', page: page(() => import('./due'), 'Due'), insider: true },
  results: { group: 'team', page: page(() => import('./results'), 'Results'), insider: true },
  signers: { group: 'team', page: page(() => import('./signers'), 'Signers'), insider: true },
  leaks: { group: 'team', page: page(() => import('./leaks'), 'Leaks'), insider: true },
  audit: { group: 'team', page: page(() => import('./audit'), 'Audit'), admin: true },
  projects: { group: 'work', page: page(() => import('./projects'), 'Projects') },
  schedules: { group: 'work', page: page(() => import('./schedules'), 'Schedules') },
  secrets: { group: 'work', page: page(() => import('./secrets'), 'Secrets') },
  ssh: { group: 'work', page: page(() => import('./secrets'), 'SSH') },
  agents: { group: 'work', page: page(() => import('./agents'), 'Agents') },
  skills: { group: 'work', page: page(() => import('./skills'), 'Skills') },
  prompts: { group: 'work', page: page(() => import('./prompts'), 'Prompts') },
  tools: { group: 'work', page: page(() => import('./tools'), 'Tools') },
  notifications: { group: 'out', page: page(() => import('./notifications'), 'Notifications'), insider: true },
  trackers: { group: 'out', page: page(() => import('./notifications'), 'Trackers'), insider: true },
  github: { group: 'out', page: page(() => import('./github'), 'GitHub'), insider: true },
  gitlab: { group: 'out', page: page(() => import('./gitlab'), 'GitLab'), insider: true },
  slack: { group: 'out', page: page(() => import('./slack'), 'Slack'), insider: true },
  webhooks: { group: 'out', page: page(() => import('./webhooks'), 'Webhooks'), insider: true },
}

/** What a person and a team set: one page each. */
export function Settings() {
  const { page: now } = useParams({ strict: false }) as { page: string }
  const role = useRole()
  useTitle(t.settings.page[now] ?? t.nav.settings)
  const there = Object.entries(pages).filter(([, p]) => (!p.admin || role.admin) && (!p.insider || role.insider))
  const nav = useNowInView(now)
  const Page = pages[now]?.page
  if (!Page) return <Missing />
  return (
    <>
      <Head title={t.settings.page[now]} crumb={t.nav.settings} />
      <div className="grid grid-cols-1 items-start gap-x-6 gap-y-4 lg:grid-cols-[11rem_minmax(0,1fr)]">
        <nav ref={nav} aria-label={t.nav.settings} className="no-print flex min-w-0 gap-x-4 gap-y-3 max-lg:relative max-lg:overflow-x-auto max-lg:border-b max-lg:border-line lg:sticky lg:top-4 lg:max-h-[calc(100vh-7rem)] lg:flex-col lg:overflow-y-auto lg:pb-2">
          {(['you', 'team', 'work', 'out'] as const).map((g) => {
            const of = there.filter(([, p]) => p.group === g)
            return of.length > 0 && (
              <div key={g} className="flex gap-1 lg:flex-col lg:gap-0.5">
                <h2 className="px-2 text-xs font-semibold text-muted max-lg:sr-only">{t.settings.group[g]}</h2>
                {of.map(([name]) => (
                  <To key={name} to={`/settings/${name}`} className="flex min-h-8 items-center rounded-sm px-2 text-sm lg:min-h-7 font-medium whitespace-nowrap text-muted hover:bg-hover hover:text-text aria-[current]:bg-accent-soft aria-[current]:text-accent">{t.settings.page[name]}</To>
                ))}
              </div>
            )
          })}
        </nav>
        <div className="max-w-5xl min-w-0"><Suspense fallback={<Loading what={t.settings.page[now] ?? t.nav.settings} />}><Page /></Suspense></div>
      </div>
    </>
  )
}
