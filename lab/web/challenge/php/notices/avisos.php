<!DOCTYPE html>
<html lang="es"><head><title>Avisos</title></head><body><nav><a href="/?view=inicio.html">Inicio</a></nav><h1>Avisos</h1><p>Corte de agua el martes.</p></body></html>
