package logs

var ngramGolden = []float64{0.3285, -0.26662, 0.3705, -0.43351}
