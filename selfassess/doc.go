// Package selfassess predicts whether an episode will succeed: the model M_sa of
// the paper (section 3.1.1), its training, calibration and the metrics it is judged by.
package selfassess
