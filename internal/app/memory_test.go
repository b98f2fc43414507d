package app

import (
	"runtime"
	"testing"

	"github.com/vedette-sec/vedette/internal/browser"
)

// Engines and server together stay within the memory, from the least machine to a large one.
func TestMemoryIsDivided(t *testing.T) {
	checks := max(1, runtime.NumCPU()/2)
	for _, c := range []struct {
		memory, engine, workers int
		over                    bool // there is not room for one engine of each kind
	}{
		{256, 0, 8, true}, {384, 0, 8, false}, {512, 0, 8, false}, {1024, 0, 8, false}, {2048, 0, 1, false}, {12_000, 0, 8, false},
		{12_000, 1024, 8, false}, {768, 0, 8, false}, {1024, 200, 2, false}, {4096, 1024, 8, false}, {4096, 2048, 8, true}, {1 << 20, 0, 1000, false}, {1 << 20, 0, 1, false},
	} {
		d := Config{Memory: c.memory, EngineMemory: c.engine, Workers: c.workers, SpareWorkers: 2, Browsers: 2}.divide()
		if over := d.server+d.engines()+int64(d.browsers)*d.browser > d.total; over != c.over {
			t.Errorf("%+v: %+v", c, d)
		}
		if d.jobs < 1 || d.jobs > c.workers+2 || d.checks < 1 || d.checks > checks || d.engine < leastEngine ||
			d.server < leastServer || c.engine > 0 && d.engine != int64(c.engine)<<20 || c.engine == 0 && d.engine > mostEngine {
			t.Errorf("%+v: %+v", c, d)
		}
		if room := d.total - d.server - d.engines() - int64(d.browsers)*d.browser; room >= d.engine && (d.jobs < c.workers+2) {
			t.Errorf("%+v: there is room for more engines: %+v", c, d)
		}
	}
	if _, err := browser.Find(""); err == nil {
		for memory, want := range map[int]int{384: 0, 512: 0, 1024: 1, 2048: 2} {
			if d := (Config{Memory: memory, Workers: 8, Browsers: 2}).divide(); d.browsers != want {
				t.Errorf("%d MB: %+v", memory, d)
			}
		}
	}
	if d := (Config{Workers: 8}).divide(); d.total < leastMemory {
		t.Errorf("half of this machine is %+v", d)
	}
}

func TestTheSizeOfAnEngineIsPartOfTheConfiguration(t *testing.T) {
	for _, c := range []struct {
		env  []string
		want int
	}{
		{[]string{"VEDETTE_MEMORY=512"}, 128}, {[]string{"VEDETTE_MEMORY=512", "VEDETTE_ENGINE_MEMORY=200"}, 200},
		{[]string{"VEDETTE_MEMORY=100000", "VEDETTE_WORKERS=1"}, 1024},
	} {
		got, _, err := Load(nil, c.env, "")
		if err != nil || got.EngineMemory != c.want {
			t.Errorf("%v: %d, %v", c.env, got.EngineMemory, err)
		}
	}
}
