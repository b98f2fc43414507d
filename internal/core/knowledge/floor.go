package knowledge

// A ranking by vectors has a nearest chunk for every query, also for one that nothing fits. Cosines alone do not tell
// these apart: those of unrelated texts are about 0.1 with one model, and 0.7 with another. So the model is also asked,
// once, for vectors of some texts about other things than a team's knowledge. The mean cosine of a query with these is
// what the model gives to texts that have nothing in common, and a chunk is found where it is clearly above: a part of
// the way from there to 1, which texts have that are the same. The mean of the team's own chunks is no such measure,
// as all of a small base may be about what is asked.

// unrelated are texts about things that nobody looks up in the knowledge of security testers, each about another one.
var unrelated = []string{
	"Beat the eggs with the sugar until they are pale, then fold in the flour and bake the cake for forty minutes.",
	"The swallows leave in September and cross the sea in a single night.",
	"She plays the second violin, and they rehearse the slow movement on Thursdays.",
	"In the last minute the goalkeeper came forward and scored with a header.",
	"Prune the roses in March, above a bud that looks outwards.",
	"The glacier left a valley with steep sides and a long lake.",
	"His grandmother knitted a scarf of red wool for each of the children.",
	"The queen was crowned in the cathedral and reigned for thirty years.",
}

// nearness is the part of the way from unrelated to equal that a found text has gone at least.
const nearness = 0.2

// floor is the least cosine of a found chunk, where base is the mean of a query's with unrelated texts.
func floor(base float32) float32 {
	base = max(0, base)
	return base + nearness*(1-base)
}

// mean is the mean of vectors of one length. Its product with another vector is the mean of theirs.
func mean(vectors [][]float32) []float32 {
	if len(vectors) == 0 {
		return nil
	}
	out := make([]float32, len(vectors[0]))
	for _, v := range vectors {
		for i, x := range v {
			out[i] += x / float32(len(vectors))
		}
	}
	return out
}
