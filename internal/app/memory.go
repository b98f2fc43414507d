package app

import (
	"context"
	"log/slog"
	"runtime"

	"github.com/vedette-sec/vedette/internal/infra/membudget"
)

// Bounds of memory, in bytes.
const (
	leastMemory = 384 << 20 // for everything
	leastServer = 128 << 20 // for this process, unless that is more than half of everything
	leastEngine = 128 << 20
	mostEngine  = 1 << 30 // for an engine, where the operator does not say another size
)

// division is how memory is divided between this process and the engines, its children.
type division struct {
	total, server, engine int64 // bytes: of all, of this process, of one engine

	jobs, checks int // engines at once: for jobs, and for templates that somebody sends and waits for
}

// divide divides memory: a fourth is for this process, the rest for as many engines as fit into it, one for each job
// if there is room. One engine of each kind there always is.
func (c Config) divide() division {
	d := division{total: int64(c.Memory) << 20, engine: int64(c.EngineMemory) << 20}
	if d.total == 0 {
		d.total = membudget.Machine() / 2
	}
	d.server = max(d.total/4, min(d.total/2, leastServer))
	left := d.total - d.server
	jobs, checks := c.Workers+c.SpareWorkers, max(1, runtime.NumCPU()/2)
	if d.engine == 0 {
		d.engine = min(max(left/int64(jobs+checks), leastEngine), mostEngine) >> 20 << 20
	}
	room := int(min(left/d.engine, int64(jobs+checks)))
	d.checks = min(max(room/4, 1), checks)
	d.jobs = min(max(room-d.checks, 1), jobs)
	return d
}

// engines is how much memory all engines may take together.
func (d division) engines() int64 { return int64(d.jobs+d.checks) * d.engine }

// limitMemory holds this process to its part of the memory, and says how the memory is divided.
func (a *App) limitMemory(ctx context.Context) {
	d := a.config.divide()
	membudget.Limit(d.server)
	level, message := slog.LevelInfo, "memory is divided"
	if d.server+d.engines() > d.total {
		level, message = slog.LevelWarn, "engines may take more memory than there is for them: lower engine_memory"
	}
	a.logger.Log(ctx, level, message, "memory_mb", d.total>>20, "server_mb", d.server>>20, "engine_mb", d.engine>>20,
		"engines_for_jobs", d.jobs, "engines_for_checks", d.checks)
}
