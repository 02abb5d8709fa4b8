package embed

import "container/list"

// lru keeps the vectors of the most recently used texts.
type lru struct {
	max   int
	order *list.List // of *item, most recent first
	items map[string]*list.Element
}

type item struct {
	text string
	vec  []float32
}

func newLRU(most int) *lru {
	return &lru{max: most, order: list.New(), items: map[string]*list.Element{}}
}

func (c *lru) get(text string) []float32 {
	e, ok := c.items[text]
	if !ok {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*item).vec
}

func (c *lru) put(text string, vec []float32) {
	if e, ok := c.items[text]; ok {
		c.order.MoveToFront(e)
		return
	}
	if c.max <= 0 {
		return
	}
	if c.order.Len() >= c.max {
		last := c.order.Back()
		delete(c.items, c.order.Remove(last).(*item).text)
	}
	c.items[text] = c.order.PushFront(&item{text, vec})
}
