package script_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/script"
)

// A script that waits for the processor has not computed. The time of the bubble passes while nothing is done, as it
// does on a machine that others keep busy.
func TestABusyMachineIsNotComputing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := script.StartClock(5*time.Second, func(why any) { t.Errorf("the script was stopped: %v", why) })
		time.Sleep(time.Minute)
		clock.Pause()
	})
}

// A script that calls all the time is stopped all the same, although no tick of the clock falls between two calls.
func TestComputingBetweenCallsCounts(t *testing.T) {
	stopped := make(chan any, 100)
	clock := script.StartClock(100*time.Millisecond, func(why any) { stopped <- why })
	defer clock.Pause()
	for rounds := 0; len(stopped) == 0; rounds++ {
		if rounds == 10_000 {
			t.Fatal("the script is not stopped")
		}
		sum := 0
		for i := range 1_000_000 {
			sum += i
		}
		if sum == 0 {
			t.Error(sum)
		}
		clock.Pause()
		clock.Resume()
	}
}
