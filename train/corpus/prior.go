package corpus

import "sort"

// smoothing is added to the number of places seen, so that a type met once is
// not believed on that one occasion.
const smoothing = 20

// unknownChance is the prior of a pair never seen together.
const unknownChance = 0.0005

// Prior is the knowledge of households: how often a receptacle of a type held an
// object of a type, by class of room. Read-only once counted.
type Prior struct {
	places map[[2]string]float64 // room class, receptacle type: instances
	held   map[[3]string]float64 // room class, receptacle type, object type: instances that held one
	fits   map[string][]string   // object type: receptacle types it was seen in, sorted by count
}

// Room is the initial content of one game: receptacle name to object names.
type Room = map[string][]string

// NewPrior counts rooms. The order of the rooms does not matter.
func NewPrior(rooms []Room) *Prior {
	p := &Prior{places: map[[2]string]float64{}, held: map[[3]string]float64{}, fits: map[string][]string{}}
	for _, room := range rooms {
		has := map[string]bool{}
		for r := range room {
			has[typeOf(r)] = true
		}
		class := roomClass(has)
		for r, objs := range room {
			t := typeOf(r)
			p.places[[2]string{class, t}]++
			once := map[string]bool{}
			for _, o := range objs {
				if ot := typeOf(o); !once[ot] {
					once[ot] = true
					p.held[[3]string{class, t, ot}]++
				}
			}
		}
	}
	p.rankFits()
	return p
}

// chance is the probability that a receptacle of type t in a room of this class
// holds an object of type o.
func (p *Prior) chance(class, t, o string) float64 {
	h := p.held[[3]string{class, t, o}]
	if h == 0 {
		return unknownChance
	}
	return h / (p.places[[2]string{class, t}] + smoothing)
}

// roomClass tells the kinds of room apart by what always stands in them.
func roomClass(types map[string]bool) string {
	switch {
	case types["fridge"]:
		return "kitchen"
	case types["toilet"]:
		return "bathroom"
	case types["bed"]:
		return "bedroom"
	}
	return "living"
}

// rankFits lists, for each object type, the receptacle types it was seen in, most frequent first.
func (p *Prior) rankFits() {
	n := map[[2]string]float64{}
	for k, h := range p.held {
		n[[2]string{k[2], k[1]}] += h
	}
	for k := range n {
		p.fits[k[0]] = append(p.fits[k[0]], k[1])
	}
	for o, l := range p.fits {
		sort.Slice(l, func(i, j int) bool {
			a, b := n[[2]string{o, l[i]}], n[[2]string{o, l[j]}]
			return a > b || a == b && l[i] < l[j]
		})
	}
}
