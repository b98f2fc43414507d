package app

import (
	"context"
	"log/slog"
	"runtime"

	"github.com/vedette-sec/vedette/internal/browser"
	"github.com/vedette-sec/vedette/internal/engine/child"
	"github.com/vedette-sec/vedette/internal/infra/membudget"
)

// Bounds of memory, in bytes.
const (
	leastMemory = 384 << 20 // for everything
	leastServer = 128 << 20 // for this process, unless that is more than half of everything
	leastEngine = 128 << 20
	mostEngine  = 1 << 30 // for an engine, where the operator does not say another size

	leastBrowser = 384 << 20 // a simple page takes some 300 MB
	mostBrowser  = 1 << 30
)

// division is how memory is divided between this process and the engines, its children.
type division struct {
	total, server, engine int64 // bytes: of all, of this process, of one engine

	jobs, checks int // engines at once: for jobs, and for templates that somebody sends and waits for

	browsers int   // at once
	browser  int64 // bytes of one
}

// divide divides memory: a fourth is for this process, then the browsers get theirs where one is installed, the rest is
// for as many engines as fit into it, one for each job if there is room. One engine of each kind there always is.
func (c Config) divide() division {
	d := division{total: int64(c.Memory) << 20, engine: int64(c.EngineMemory) << 20}
	if d.total == 0 {
		d.total = membudget.Machine() / 2
	}
	d.server = max(d.total/4, min(d.total/2, leastServer))
	left := d.total - d.server
	if _, err := browser.Find(c.Browser); err == nil {
		d.browser = min(max(left/4, leastBrowser), mostBrowser)
		d.browsers = int(max(0, min(int64(c.Browsers), (left-2*max(d.engine, leastEngine))/d.browser)))
		left -= int64(d.browsers) * d.browser
	}
	jobs, checks := c.Workers+c.SpareWorkers, max(1, runtime.NumCPU()/2)
	if d.engine == 0 {
		d.engine = min(max(left/int64(jobs+checks), leastEngine), mostEngine) >> 20 << 20
	}
	room := int(min(left/d.engine, int64(jobs+checks)))
	d.checks = min(max(room/4, 1), checks)
	d.jobs = min(max(room-d.checks, 1), jobs)
	return d
}

// lent are the browsers that engines may use.
func (c Config) lent(d division) child.Browsers {
	b := child.Browsers{AtOnce: d.browsers, Memory: d.browser, Path: c.Browser}
	switch _, err := browser.Find(c.Browser); {
	case c.Browsers == 0:
		b.Why = "this server runs no browsers (its option browsers is 0)"
	case err != nil:
		b.Why = err.Error()
	default:
		b.Why = "this server has too little memory for a browser (its option memory)"
	}
	return b
}

// engines is how much memory all engines may take together.
func (d division) engines() int64 { return int64(d.jobs+d.checks) * d.engine }

// limitMemory holds this process to its part of the memory, and says how the memory is divided.
func (a *App) limitMemory(ctx context.Context) {
	d := a.config.divide()
	membudget.Limit(d.server)
	level, message := slog.LevelInfo, "memory is divided"
	if d.server+d.engines()+int64(d.browsers)*d.browser > d.total {
		level, message = slog.LevelWarn, "engines may take more memory than there is for them: lower engine_memory"
	}
	a.logger.Log(ctx, level, message, "memory_mb", d.total>>20, "server_mb", d.server>>20, "engine_mb", d.engine>>20,
		"engines_for_jobs", d.jobs, "engines_for_checks", d.checks,
		"browsers", d.browsers, "browser_mb", d.browser>>20)
}
