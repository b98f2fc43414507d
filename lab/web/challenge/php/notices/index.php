<?php
$weak = getenv('LAB_VARIANT') === 'weak';
$view = $_GET['view'] ?? 'inicio.html';
?><!DOCTYPE html>
<html lang="es"><head><title>Ayuntamiento</title></head><body>
<nav><a href="/?view=inicio.html">Inicio</a> <a href="/?view=horario.html">Horario</a> <a href="/avisos.php">Avisos</a></nav>
<?php
if ($weak) {
	@include 'vistas/' . $view;
} elseif (in_array($view, ['inicio.html', 'horario.html'], true)) {
	include 'vistas/' . $view;
} else {
	echo '<p>La página no existe.</p>';
}
?>
</body></html>
