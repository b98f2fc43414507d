package fuzz

import "math"

// regression is a simple linear regression.
type regression struct {
	n            float64
	meanX, meanY float64
	xx, yy, xy   float64 // sums of products of the distances from the means
}

func (r *regression) add(x, y float64) {
	r.n++
	dx, dy := x-r.meanX, y-r.meanY
	r.meanX += dx / r.n
	r.meanY += dy / r.n
	r.xx += dx * (x - r.meanX)
	r.yy += dy * (y - r.meanY)
	r.xy += dx * (y - r.meanY)
}

// fit returns slope and correlation; 0 where the points do not determine them.
func (r *regression) fit() (slope, correlation float64) {
	if r.xx == 0 {
		return 0, 0
	}
	if r.yy > 0 {
		correlation = r.xy / math.Sqrt(r.xx*r.yy)
	}
	return r.xy / r.xx, correlation
}

// follows reports whether y grows as x does.
func (r *regression) follows(correlationError, slopeError float64) bool {
	if r.n < 2 {
		return true
	}
	slope, correlation := r.fit()
	return correlation > 1-correlationError && math.Abs(1-slope) <= slopeError
}
