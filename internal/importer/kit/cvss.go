package kit

import (
	"math"
	"strings"
)

// cvss3 are the weights of the metrics of CVSS 3.0 and 3.1, by metric and value; PR with a changed scope is PRC.
var cvss3 = map[string]map[string]float64{
	"AV":  {"N": 0.85, "A": 0.62, "L": 0.55, "P": 0.2},
	"AC":  {"L": 0.77, "H": 0.44},
	"PR":  {"N": 0.85, "L": 0.62, "H": 0.27},
	"PRC": {"N": 0.85, "L": 0.68, "H": 0.5},
	"UI":  {"N": 0.85, "R": 0.62},
	"CIA": {"H": 0.56, "L": 0.22, "N": 0},
}

// BaseScore is the base score of a vector of CVSS 3, with or without its version in front; 0 for other vectors, and for
// those that are not complete.
func BaseScore(vector string) float64 {
	metrics := map[string]string{}
	for part := range strings.SplitSeq(vector, "/") {
		name, value, _ := strings.Cut(part, ":")
		metrics[name] = value
	}
	if v := metrics["CVSS"]; v != "" && !strings.HasPrefix(v, "3") {
		return 0
	}
	changed := metrics["S"] == "C"
	privileges := "PR"
	if changed {
		privileges = "PRC"
	}
	weights := map[string]float64{}
	for _, m := range [][2]string{{"AV", "AV"}, {"AC", "AC"}, {"PR", privileges}, {"UI", "UI"}, {"C", "CIA"}, {"I", "CIA"},
		{"A", "CIA"}} {
		w, ok := cvss3[m[1]][metrics[m[0]]]
		if !ok {
			return 0
		}
		weights[m[0]] = w
	}
	iss := 1 - (1-weights["C"])*(1-weights["I"])*(1-weights["A"])
	impact := 6.42 * iss
	if changed {
		impact = 7.52*(iss-0.029) - 3.25*math.Pow(iss-0.02, 15)
	}
	if impact <= 0 {
		return 0
	}
	score := impact + 8.22*weights["AV"]*weights["AC"]*weights["PR"]*weights["UI"]
	if changed {
		score *= 1.08
	}
	return roundUp(math.Min(score, 10))
}

// roundUp rounds to the next tenth, as the specification of CVSS 3.1 says it.
func roundUp(score float64) float64 {
	whole := math.Round(score * 100000)
	if math.Mod(whole, 10000) == 0 {
		return whole / 100000
	}
	return (math.Floor(whole/10000) + 1) / 10
}
