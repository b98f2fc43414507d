package report

import "testing"

func TestTrendHasFewBars(t *testing.T) {
	for _, c := range []struct {
		days []int64
		unit string
		bars int
	}{{nil, "day", 0}, {[]int64{20000}, "day", 1}, {[]int64{20000, 20030}, "day", 31}, {[]int64{20000, 20031}, "week", 6},
		{[]int64{20000, 20300}, "month", 10}, {[]int64{0, 20000}, "month", maxBuckets}} {
		t0 := Totals{byDay: map[int64]int{}}
		for _, day := range c.days {
			t0.byDay[day] = 7
		}
		unit, bars := t0.trend()
		last := 0
		if len(bars) > 0 {
			last = bars[len(bars)-1].N
		}
		if unit != c.unit || len(bars) != c.bars || len(c.days) > 0 && last != 7 {
			t.Errorf("%v: %d bars by %s, the last of %d", c.days, len(bars), unit, last)
		}
	}
}
