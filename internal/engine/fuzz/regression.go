package fuzz

import "math"

// regression is a simple linear regression.
type regression struct{ n, x, y, xx, yy, xy float64 } // sums over the points

func (r *regression) add(x, y float64) {
	r.n, r.x, r.y = r.n+1, r.x+x, r.y+y
	r.xx, r.yy, r.xy = r.xx+x*x, r.yy+y*y, r.xy+x*y
}

// fit returns slope and correlation; 0 where the points do not determine them.
func (r *regression) fit() (slope, correlation float64) {
	xx, yy, xy := r.xx-r.x*r.x/r.n, r.yy-r.y*r.y/r.n, r.xy-r.x*r.y/r.n
	if xx == 0 {
		return 0, 0
	}
	if yy > 0 {
		correlation = xy / math.Sqrt(xx*yy)
	}
	return xy / xx, correlation
}

// follows reports whether y grows as x does.
func (r *regression) follows(correlationError, slopeError float64) bool {
	if r.n < 2 {
		return true
	}
	slope, correlation := r.fit()
	return correlation > 1-correlationError && math.Abs(1-slope) <= slopeError
}
