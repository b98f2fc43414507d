import { createRootRoute, createRoute, createRouter, lazyRouteComponent, Outlet } from '@tanstack/react-router'
import { parse, write, type Search } from './lib/search'
import { Frame } from './screens/frame'
import { Login } from './screens/login'
import { Crash, Missing } from './screens/crash'

const root = createRootRoute({ component: Outlet, notFoundComponent: Missing, errorComponent: Crash, validateSearch: (s): Search => s as Search })
const login = createRoute({ getParentRoute: () => root, path: '/login', component: Login })
const frame = createRoute({ getParentRoute: () => root, id: 'frame', component: Frame, errorComponent: Crash })

// Each screen is a file of its own that the browser loads when it is opened. Lists are asked for then, beside who is signed in.
const screens = [
  createRoute({ getParentRoute: () => frame, path: '/', component: lazyRouteComponent(() => import('./screens/today'), 'Today') }),
  createRoute({ getParentRoute: () => frame, path: '/findings', loader: ({ location }) => { void import('./screens/findings').then((m) => m.ask(location.search)) }, component: lazyRouteComponent(() => import('./screens/findings'), 'Findings') }),
  createRoute({ getParentRoute: () => frame, path: '/findings/$id', component: lazyRouteComponent(() => import('./screens/finding'), 'Finding') }),
  createRoute({ getParentRoute: () => frame, path: '/scans', component: lazyRouteComponent(() => import('./screens/scans'), 'Scans') }),
  createRoute({ getParentRoute: () => frame, path: '/scans/new', component: lazyRouteComponent(() => import('./screens/scan-new'), 'NewScan') }),
  createRoute({ getParentRoute: () => frame, path: '/scans/$id', component: lazyRouteComponent(() => import('./screens/scan'), 'Scan') }),
  createRoute({ getParentRoute: () => frame, path: '/tasks', component: lazyRouteComponent(() => import('./screens/tasks'), 'Tasks') }),
  createRoute({ getParentRoute: () => frame, path: '/tasks/new', component: lazyRouteComponent(() => import('./screens/task-new'), 'NewTask') }),
  createRoute({ getParentRoute: () => frame, path: '/tasks/$id', component: lazyRouteComponent(() => import('./screens/task'), 'Task') }),
  createRoute({ getParentRoute: () => frame, path: '/assets', loader: ({ location }) => { void import('./screens/assets').then((m) => m.ask(location.search)) }, component: lazyRouteComponent(() => import('./screens/assets'), 'Assets') }),
  createRoute({ getParentRoute: () => frame, path: '/assets/policies', component: lazyRouteComponent(() => import('./screens/asset-policies'), 'Policies') }),
  createRoute({ getParentRoute: () => frame, path: '/assets/associated', component: lazyRouteComponent(() => import('./screens/associated'), 'Associated') }),
  createRoute({ getParentRoute: () => frame, path: '/assets/$id', component: lazyRouteComponent(() => import('./screens/assets'), 'Asset') }),
  createRoute({ getParentRoute: () => frame, path: '/templates', component: lazyRouteComponent(() => import('./screens/templates'), 'Templates') }),
  createRoute({ getParentRoute: () => frame, path: '/templates/$id', component: lazyRouteComponent(() => import('./screens/template'), 'Template') }),
  createRoute({ getParentRoute: () => frame, path: '/cves', component: lazyRouteComponent(() => import('./screens/cves'), 'CVEs') }),
  createRoute({ getParentRoute: () => frame, path: '/cves/$id', component: lazyRouteComponent(() => import('./screens/cves'), 'CVE') }),
  createRoute({ getParentRoute: () => frame, path: '/enumerations', component: lazyRouteComponent(() => import('./screens/enumerations'), 'Enumerations') }),
  createRoute({ getParentRoute: () => frame, path: '/enumerations/$id', component: lazyRouteComponent(() => import('./screens/enumerations'), 'Enumeration') }),
  createRoute({ getParentRoute: () => frame, path: '/triage', component: lazyRouteComponent(() => import('./screens/triage'), 'Triage') }),
  createRoute({ getParentRoute: () => frame, path: '/triage/$id', component: lazyRouteComponent(() => import('./screens/triage'), 'WorkOff') }),
  createRoute({ getParentRoute: () => frame, path: '/inbox', component: lazyRouteComponent(() => import('./screens/inbox'), 'Inbox') }),
  createRoute({ getParentRoute: () => frame, path: '/reports', component: lazyRouteComponent(() => import('./screens/reports'), 'Reports') }),
  createRoute({ getParentRoute: () => frame, path: '/agents', component: lazyRouteComponent(() => import('./screens/agents'), 'Agents') }),
  createRoute({ getParentRoute: () => frame, path: '/network', component: lazyRouteComponent(() => import('./screens/network'), 'Network') }),
  createRoute({ getParentRoute: () => frame, path: '/network/$id', component: lazyRouteComponent(() => import('./screens/network-event'), 'NetworkEvent') }),
  createRoute({ getParentRoute: () => frame, path: '/knowledge', component: lazyRouteComponent(() => import('./screens/knowledge'), 'Knowledge') }),
  createRoute({ getParentRoute: () => frame, path: '/reference', component: lazyRouteComponent(() => import('./screens/reference'), 'Reference') }),
  createRoute({ getParentRoute: () => frame, path: '/settings/$page', component: lazyRouteComponent(() => import('./screens/settings/index'), 'Settings') }),
]

export const router = createRouter({
  routeTree: root.addChildren([login, frame.addChildren(screens)]),
  parseSearch: parse,
  stringifySearch: write,
  defaultPreload: 'intent',
  defaultErrorComponent: Crash,
  defaultNotFoundComponent: Missing,
  scrollRestoration: false,
})

declare module '@tanstack/react-router' {
  interface Register { router: typeof router }
}
